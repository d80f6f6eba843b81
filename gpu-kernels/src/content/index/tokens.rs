//! Tokens: conditions of a filter that can be looked up by a hash.

use shared::world::mix::mix;

use crate::content::compile::Condition;

/// The distinct names of a filter, ascending. A filter of at most [`SET_NAMES_MAX`] names
/// is looked up by this set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct NameSet {
    pub(in crate::content) names: [u16; SET_NAMES_MAX],
    pub(in crate::content) len: u32,
}

device::plain!(NameSet {
    names: [u16; SET_NAMES_MAX],
    len: u32,
});

impl NameSet {
    /// The names of a filter's conditions; `None` if there are none or too many.
    pub fn of(conditions: &[Condition]) -> Option<NameSet> {
        let mut set = NameSet::default();
        for condition in conditions {
            let len = set.len as usize;
            let Err(at) = set.names[..len].binary_search(&condition.name) else {
                continue;
            };
            if len == SET_NAMES_MAX {
                return None;
            }
            set.names.copy_within(at..len, at + 1);
            set.names[at] = condition.name;
            set.len += 1;
        }
        (set.len > 0).then_some(set)
    }

    pub fn names(&self) -> &[u16] {
        &self.names[..self.len as usize]
    }

    /// The set's token, which does not depend on the order of its names.
    pub fn token(&self) -> u64 {
        let tokens = self.names().iter().map(|&name| name_token(name.into()));
        tokens.fold(NO_NAMES, |set, token| set ^ token)
    }

    /// The set as a device has it.
    pub fn words(&self) -> [u64; 2] {
        let [a, b, c, d, e, f] = self.names.map(u64::from);
        let low = a | b << 16 | c << 32 | d << 48;
        [low, e | f << 16 | u64::from(self.len) << 32]
    }
}

/// Replaces `tokens` by a filter's tokens, in the order in which the tree has them: the set
/// of its names (or each name without a point, if there are too many for a set), and its
/// points.
pub fn tokens(conditions: &[Condition], tokens: &mut Vec<u64>) {
    tokens.clear();
    let set = NameSet::of(conditions);
    tokens.extend(set.map(|set| set.token()));
    for (i, condition) in conditions.iter().enumerate() {
        let name = u32::from(condition.name);
        if condition.is_point() {
            tokens.push(point_token(name, condition.low));
        } else if set.is_none() && conditions[..i].iter().all(|c| c.name != condition.name) {
            tokens.push(name_token(name));
        }
    }
}

/// The token of a name.
pub fn name_token(name: u32) -> u64 {
    mix(u64::from(name), 0x6e61_6d65)
}

/// The token of a name with the one key that it must have.
pub fn point_token(name: u32, key: u64) -> u64 {
    mix(name_token(name), key)
}

/// The bit of a name in a mask of names. Several names share a bit.
pub fn name_bit(name: u32) -> u64 {
    1 << (name & 63)
}

/// The most names of a [`NameSet`].
pub const SET_NAMES_MAX: usize = 6;
/// Where the token of a set begins. No name has this token.
pub const NO_NAMES: u64 = 0x7365_7473;
