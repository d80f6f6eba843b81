//! The tick's kernels by stage.

use device::{Device, DriverError};

use super::atomic::AtomicKernels;
use super::census::CensusKernels;
use super::doors::DoorKernels;
use super::due::DueKernels;
use super::edits::EditKernels;
use super::fields::FieldKernels;
use super::hash::HashKernels;
use super::hearings::HearingsKernels;
use super::held::HeldKernels;
use super::index::IndexKernels;
use super::interest::InterestKernels;
use super::lifecycle::LifecycleKernels;
use super::logic::LogicKernels;
use super::merge::MergeKernels;
use super::motion::MotionKernels;
use super::regions::RegionsKernels;
use super::standings::StandingsKernels;
use super::zones::ZoneKernels;

/// One structure of kernels for each stage.
pub struct Kernels {
    pub due: DueKernels,
    pub doors: DoorKernels,
    pub fields: FieldKernels,
    pub census: CensusKernels,
    pub standings: StandingsKernels,
    pub held: HeldKernels,
    pub logic: LogicKernels,
    pub atomic: AtomicKernels,
    pub merge: MergeKernels,
    pub motion: MotionKernels,
    pub lifecycle: LifecycleKernels,
    pub edits: EditKernels,
    pub index: IndexKernels,
    pub interest: InterestKernels,
    pub hearings: HearingsKernels,
    pub regions: RegionsKernels,
    pub hash: HashKernels,
    pub zones: ZoneKernels,
}

impl Kernels {
    pub fn load(device: &Device) -> Result<Kernels, DriverError> {
        Ok(Kernels {
            due: DueKernels::load(device)?,
            doors: DoorKernels::load(device)?,
            fields: FieldKernels::load(device)?,
            census: CensusKernels::load(device)?,
            standings: StandingsKernels::load(device)?,
            held: HeldKernels::load(device)?,
            logic: LogicKernels::load(device)?,
            atomic: AtomicKernels::load(device)?,
            merge: MergeKernels::load(device)?,
            motion: MotionKernels::load(device)?,
            lifecycle: LifecycleKernels::load(device)?,
            edits: EditKernels::load(device)?,
            index: IndexKernels::load(device)?,
            interest: InterestKernels::load(device)?,
            hearings: HearingsKernels::load(device)?,
            regions: RegionsKernels::load(device)?,
            hash: HashKernels::load(device)?,
            zones: ZoneKernels::load(device)?,
        })
    }
}
