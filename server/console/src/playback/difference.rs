//! Where two states differ.

use gpu_kernels::StateHash;
use shared::Schema;

/// The parts of the state whose hashes differ, for people.
pub fn differing_parts(schema: &Schema, a: &StateHash, b: &StateHash) -> String {
    if a.parts.len() != b.parts.len() {
        return "the number of attributes".to_owned();
    }
    let parts = a.parts.iter().zip(&b.parts);
    let named = parts.zip(StateHash::part_names(schema));
    let differing = named.filter(|((a, b), _)| a != b).map(|(_, name)| name);
    differing.collect::<Vec<String>>().join(", ")
}
