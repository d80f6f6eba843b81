//! A client's known set, as both ends of a link keep it, and its deliveries of a tick.
//!
//! Most deliveries follow from the set: each known entity that changed is updated, in the tier of
//! its last delivery. Only the differences travel:
//!
//! | field | bits |
//! | --- | --- |
//! | whether there is any difference | 1; if not, that is all |
//! | form: differences, none delivered, all renewed with differences, listed | 2 |
//! | listed: the number of deliveries, and each as it is | 6 to 38, then 32 each |
//! | differences: their number; of each, its distance in the set, and what is different | Rice codes, and 2 to 5 bits each |
//! | enters: their number; of each, its distance in slots, and its tier | Rice codes, and 2 bits each |

use gpu_kernels::Delivery;
use shared::wire::bits::{BitReader, BitWriter};

use super::{WireError, below};

/// The entities that a client has been sent, each with the tier of its last delivery: ascending,
/// four times the slot, plus the tier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known(Vec<u32>);

/// The slots of entities that changed in a tick.
#[derive(Debug, Default)]
pub struct Fresh {
    bits: Vec<u64>,
    pub capacity: u32,
}

/// How a delivery differs from the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Difference {
    Leave,
    Missing,
    Tier(u32),
    /// Of another kind, or not expected at all.
    Other {
        kind: u32,
        tier: u32,
    },
}

/// The differences by place in the set, and the enters.
type Differences = (Vec<(usize, Difference)>, Vec<Delivery>);

impl Fresh {
    pub fn new(capacity: u32) -> Fresh {
        Fresh {
            bits: vec![0; (capacity as usize).div_ceil(64)],
            capacity,
        }
    }

    pub fn clear(&mut self) {
        self.bits.fill(0);
    }

    pub fn add(&mut self, slot: u32) {
        if let Some(bits) = self.bits.get_mut(slot as usize / 64) {
            *bits |= 1 << (slot % 64);
        }
    }

    fn has(&self, slot: u32) -> bool {
        let bits = self.bits.get(slot as usize / 64);
        bits.is_some_and(|bits| bits >> (slot % 64) & 1 == 1)
    }
}

impl Known {
    /// Appends a tick's deliveries, and applies them to the set.
    pub fn write(&mut self, deliveries: &[Delivery], fresh: &Fresh, writer: &mut BitWriter) {
        let is_renewed = deliveries.iter().any(|d| d.kind() == Delivery::RENEW);
        let Some((differences, enters)) = self.differences(deliveries, fresh, is_renewed) else {
            writer.put(1, 1);
            writer.put(LISTED, 2);
            writer.put_small(count(deliveries));
            for delivery in deliveries {
                writer.put(u64::from(delivery.0), 32);
            }
            return self.follow(deliveries);
        };
        if differences.is_empty() && enters.is_empty() && !is_renewed {
            return writer.put(0, 1);
        }
        writer.put(1, 1);
        if deliveries.is_empty() {
            return writer.put(NONE, 2);
        }
        let form = if is_renewed { RENEWED } else { DIFFERENCES };
        writer.put(form, 2);
        writer.put_rice(count(&differences), 0);
        let mut next = 0;
        for (place, difference) in differences {
            let gap = u32::try_from(place - next).unwrap_or(u32::MAX);
            writer.put_rice(gap, PLACE_PARAMETER);
            next = place + 1;
            match difference {
                Difference::Leave => writer.put(0, 2),
                Difference::Missing => writer.put(1, 2),
                Difference::Tier(tier) => writer.put(u64::from(2 | tier << 2), 4),
                Difference::Other { kind, tier } => {
                    let is_renewal = u32::from(kind == Delivery::RENEW);
                    writer.put(u64::from(3 | is_renewal << 2 | tier << 3), 5);
                }
            }
        }
        writer.put_rice(count(&enters), 0);
        let parameter = gap_parameter(fresh.capacity, count(&enters));
        let mut next = 0;
        for enter in &enters {
            writer.put_rice(enter.slot().0 - next, parameter);
            writer.put(u64::from(enter.tier()), 2);
            next = enter.slot().0 + 1;
        }
        self.follow(deliveries);
    }

    /// Reads a tick's deliveries, and applies them to the set.
    pub fn read(
        &mut self,
        fresh: &Fresh,
        reader: &mut BitReader<'_>,
    ) -> Result<Vec<Delivery>, WireError> {
        let form = match reader.get_bool()? {
            true => reader.get(2)?,
            false => {
                let same = self
                    .0
                    .iter()
                    .filter_map(|&word| expected(word, fresh, false));
                return Ok(same.collect());
            }
        };
        let deliveries = match form {
            NONE => return Ok(vec![]),
            LISTED => {
                let mut deliveries = vec![];
                for _ in 0..reader.get_small()? {
                    let delivery = Delivery(reader.get_as(32)?);
                    below_capacity(delivery.slot().0, fresh)?;
                    deliveries.push(delivery);
                }
                deliveries
            }
            form => self.read_differences(form == RENEWED, fresh, reader)?,
        };
        self.follow(&deliveries);
        Ok(deliveries)
    }

    fn read_differences(
        &self,
        is_renewed: bool,
        fresh: &Fresh,
        reader: &mut BitReader<'_>,
    ) -> Result<Vec<Delivery>, WireError> {
        let mut deliveries = vec![];
        let mut next = 0;
        let expect = |words: &[u32], deliveries: &mut Vec<Delivery>| {
            let all = words.iter().map(|&word| expected(word, fresh, is_renewed));
            deliveries.extend(all.flatten());
        };
        for _ in 0..reader.get_rice(0)? {
            let gap = reader.get_rice(PLACE_PARAMETER)? as usize;
            let place = next + gap;
            let Some(&word) = self.0.get(place) else {
                return Err(WireError::Contradiction(
                    "an entity that is not known differs",
                ));
            };
            expect(&self.0[next..place], &mut deliveries);
            next = place + 1;
            let slot = word >> 2;
            let usual = if is_renewed {
                Delivery::RENEW
            } else {
                Delivery::UPDATE
            };
            let found = match reader.get(2)? {
                0 => Some(Delivery::new(Delivery::LEAVE, slot)),
                1 => None,
                2 => Some(Delivery::new(usual, slot).in_tier(reader.get_as(2)?)),
                _ => {
                    let kind = match reader.get_bool()? {
                        true => Delivery::RENEW,
                        false => Delivery::UPDATE,
                    };
                    Some(Delivery::new(kind, slot).in_tier(reader.get_as(2)?))
                }
            };
            deliveries.extend(found);
        }
        expect(&self.0[next..], &mut deliveries);
        let enters = reader.get_rice(0)?;
        let parameter = gap_parameter(fresh.capacity, enters);
        let mut next = 0u32;
        for _ in 0..enters {
            let slot = next.saturating_add(reader.get_rice(parameter)?);
            below_capacity(slot, fresh)?;
            if self.place(slot).is_ok() {
                return Err(WireError::Contradiction("a known entity enters"));
            }
            deliveries.push(Delivery::new(Delivery::ENTER, slot).in_tier(reader.get_as(2)?));
            next = slot + 1;
        }
        if enters > 0 {
            deliveries.sort_unstable_by_key(|delivery| delivery.slot());
        }
        Ok(deliveries)
    }

    /// How deliveries differ from the expected ones; `None` if they must be listed.
    fn differences(
        &self,
        deliveries: &[Delivery],
        fresh: &Fresh,
        is_renewed: bool,
    ) -> Option<Differences> {
        let slots = deliveries.iter().map(|delivery| delivery.slot());
        if !slots.is_sorted_by(|a, b| a < b) {
            return None;
        }
        let (mut differences, mut enters) = (vec![], vec![]);
        let mut rest = deliveries.iter().copied().peekable();
        for (place, &word) in self.0.iter().enumerate() {
            let slot = word >> 2;
            while let Some(enter) = rest.next_if(|delivery| delivery.slot().0 < slot) {
                enters.push(enter);
            }
            let found = rest.next_if(|delivery| delivery.slot().0 == slot);
            let expected = expected(word, fresh, is_renewed);
            if found == expected {
                continue;
            }
            let difference = match found {
                None => Difference::Missing,
                Some(found) => {
                    let (kind, tier) = (found.kind(), found.tier());
                    match kind {
                        Delivery::ENTER => return None,
                        Delivery::LEAVE if tier > 0 => return None,
                        Delivery::LEAVE => Difference::Leave,
                        _ if expected.is_some_and(|e| e.kind() == kind) => Difference::Tier(tier),
                        _ => Difference::Other { kind, tier },
                    }
                }
            };
            differences.push((place, difference));
        }
        enters.extend(rest);
        let all_enter = enters.iter().all(|d| d.kind() == Delivery::ENTER);
        all_enter.then_some((differences, enters))
    }

    /// Applies deliveries to the set.
    fn follow(&mut self, deliveries: &[Delivery]) {
        // Most ascend by slot, as the set does.
        let mut place = 0;
        for delivery in deliveries {
            let slot = delivery.slot().0;
            let is_behind = place > 0 && self.0.get(place - 1).is_some_and(|w| w >> 2 >= slot);
            place = match is_behind {
                true => self.0.partition_point(|word| word >> 2 < slot),
                false => {
                    let rest = self.0[place..].iter();
                    place + rest.take_while(|&word| word >> 2 < slot).count()
                }
            };
            let is_known = self.0.get(place).is_some_and(|word| word >> 2 == slot);
            let word = slot << 2 | delivery.tier();
            match (is_known, delivery.kind()) {
                (true, Delivery::LEAVE) => {
                    self.0.remove(place);
                }
                (true, _) => self.0[place] = word,
                (false, Delivery::ENTER) => self.0.insert(place, word),
                (false, _) => {}
            }
        }
    }

    fn place(&self, slot: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&slot, |word| word >> 2)
    }
}

/// The delivery that follows from a known entity.
fn expected(word: u32, fresh: &Fresh, is_renewed: bool) -> Option<Delivery> {
    let (slot, tier) = (word >> 2, word & 3);
    match is_renewed {
        true => Some(Delivery::new(Delivery::RENEW, slot).in_tier(tier)),
        false => {
            let is_fresh = fresh.has(slot);
            is_fresh.then(|| Delivery::new(Delivery::UPDATE, slot).in_tier(tier))
        }
    }
}

fn below_capacity(slot: u32, fresh: &Fresh) -> Result<(), WireError> {
    below("a slot", slot.into(), fresh.capacity.into())
}

fn count<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}

/// The parameter of a Rice code for the gaps between so many slots.
pub fn gap_parameter(capacity: u32, count: u32) -> u32 {
    (capacity / count.max(1)).max(1).ilog2()
}

const DIFFERENCES: u64 = 0;
const NONE: u64 = 1;
const RENEWED: u64 = 2;
const LISTED: u64 = 3;

/// For known sets of about 20, of which a few differ.
const PLACE_PARAMETER: u32 = 2;
