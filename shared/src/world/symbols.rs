//! Which symbols the attributes of a world can have, and which are the keys of its maps. A schema has
//! only the least and the greatest of each, between which other attributes may have some.

use serde::{Deserialize, Serialize};

use super::collection::Collection;
use super::schema::{KindAttribute, Schema};

/// With the first column of a map: the column under which [`Symbols`] has its keys.
pub const KEYS: u16 = 1 << 15;

/// The symbols of all attributes of type symbol, and the keys of all maps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbols(pub Vec<SymbolSet>);

/// The symbols of an attribute, as one kind has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolSet {
    pub kind: u16,
    pub column: u16,
    /// Places in [`Schema::symbols`], ascending; of a map, its keys.
    pub numbers: Vec<i32>,
}

impl Collection<'_> {
    /// The symbols of a map's keys, ascending. A key that is none of the world's symbols has none.
    fn key_numbers(&self, schema: &Schema) -> Vec<i32> {
        let number = |key: &&str| schema.symbols.iter().position(|own| own == key);
        let numbers = self.keys.iter().filter_map(number);
        let mut numbers: Vec<i32> = numbers.filter_map(|n| i32::try_from(n).ok()).collect();
        numbers.sort_unstable();
        numbers
    }
}

impl Symbols {
    /// All that is within the bounds of the attributes: what a schema alone says.
    pub fn within_bounds(schema: &Schema) -> Symbols {
        let end = i32::try_from(schema.symbols.len()).unwrap_or(i32::MAX);
        let set = |kind: u16, own: &KindAttribute| {
            let attribute = schema.attributes.get(usize::from(own.column))?;
            let numbers = own.min.max(0)..own.max.saturating_add(1).min(end);
            attribute.ty.has_symbols().then(|| SymbolSet {
                kind,
                column: own.column,
                numbers: numbers.collect(),
            })
        };
        let kinds = (0..).zip(&schema.kinds);
        let sets = kinds.flat_map(|(kind, of)| {
            let own = of.attributes.iter();
            own.filter_map(move |own| set(kind, own))
        });
        let mut symbols = Symbols(sets.collect());
        symbols.add_keys(schema);
        symbols
    }

    /// Adds the keys of the world's maps.
    pub fn add_keys(&mut self, schema: &Schema) {
        for map in schema.collections().iter().filter(|own| own.is_map()) {
            let numbers = map.key_numbers(schema);
            let has_it = |own: &KindAttribute| own.column == map.first;
            for (kind, of) in (0..).zip(&schema.kinds) {
                if of.attributes.iter().any(has_it) {
                    self.0.push(SymbolSet {
                        kind,
                        column: map.first | KEYS,
                        numbers: numbers.clone(),
                    });
                }
            }
        }
    }

    /// Those of a kind's attribute.
    pub fn of(&self, kind: u16, column: u16) -> &[i32] {
        let mut sets = self.of_column(column);
        let own = sets.find(|set| set.kind == kind);
        own.map_or(&[], |set| &set.numbers)
    }

    /// Whether a kind's attribute can have a symbol.
    pub fn has(&self, kind: u16, column: u16, number: i32) -> bool {
        self.of(kind, column).binary_search(&number).is_ok()
    }

    /// An attribute's sets, by kind.
    pub fn of_column(&self, column: u16) -> impl Iterator<Item = &SymbolSet> {
        self.0.iter().filter(move |set| set.column == column)
    }

    /// All symbols that an attribute can have in some kind, ascending.
    pub fn all_of(&self, column: u16) -> Vec<i32> {
        let sets = self.of_column(column);
        let mut numbers: Vec<i32> = sets.flat_map(|set| set.numbers.iter().copied()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}
