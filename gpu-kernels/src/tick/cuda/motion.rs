//! New courses of entities: a part of the stage `merge`.

use device::DriverError;

use super::Part;
use super::launcher::Launcher;
use crate::tick::state::{Snapshot, Track};

device::kernels! {
    pub struct MotionKernels {
        compare: "motion_compare",
        store: "motion_store",
    }
}

impl MotionKernels {
    /// Runs after all positions have changed, and before births and deaths.
    pub fn run(&self, run: &Launcher) -> Result<(), DriverError> {
        if run.world.motion == 0 {
            return Ok(());
        }
        let slots = u64::from(run.world.capacity);
        run.items(self.compare, slots)?;
        run.items(self.store, slots)
    }
}

/// Uploads the tracks, and where entities are.
pub fn put(part: &Part, snapshot: &Snapshot) -> Result<(), DriverError> {
    let (s, w) = (&part.sizes, &part.world);
    if s.motion == 0 {
        return Ok(());
    }
    let tracks = &snapshot.tracks;
    let by_axis = |of: fn(&Track) -> [i32; 3]| -> Vec<i32> {
        let axes = (0..3).flat_map(|axis| tracks.iter().map(move |track| of(track)[axis]));
        axes.collect()
    };
    let glides: Vec<u32> = tracks.iter().map(|t| u32::from(t.glides)).collect();
    let mut places = vec![];
    for axis in 0..3 {
        let rows = snapshot.rows.chunks_exact(s.columns as usize);
        places.extend(rows.map(|row| {
            if axis < s.dimensions as usize {
                row[axis]
            } else {
                0
            }
        }));
    }
    let device = &part.device;
    device.write(w.track_glides, &glides)?;
    device.write(w.track_steps, &by_axis(|track| track.step))?;
    device.write(w.track_offsets, &by_axis(|track| track.offset))?;
    device.write(w.last_positions, &places)
}
