//! The changes and notifications that subscriptions can match: only these are matched.

use shared::predicate::{
    CELL_SHIFTS, Constraint, Filter, NameId, Operator, Predicate, Value, WorldNames,
};
use shared::world::columns::Columns;
use shared::world::notification::NOTIFICATIONS_MAX;
use shared::{Audience, Schema};

/// The number of filters that may match each sort of change and each notification, and that
/// use each name.
pub struct Wanted {
    names: WorldNames,
    columns: Vec<Column>,
    kinds: Vec<Kind>,
    /// By place in [`Schema::notifications`].
    notifications: Vec<NotificationFilters>,
    /// By name: the number of constraints that use it.
    uses: Vec<u32>,
    /// By place in [`WorldNames::cells`]: which of its names are used, as bits.
    cells: Vec<u16>,
}

struct Column {
    name: String,
    is_symbol: bool,
    /// Of a number of 64 bits, whose changes are no events: each half changes by itself.
    is_half: bool,
}

struct Kind {
    name: String,
    /// The kind's columns that are not hidden.
    columns: Columns,
    /// By column: the number of filters that may match a change of it.
    filters: Vec<u32>,
    /// The columns with any such filter.
    wanted: Columns,
}

struct NotificationFilters {
    name: String,
    /// The number of filters that may match it.
    filters: u32,
}

/// The type of an event, by which predicates for others are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// By its place in the schema.
    Notification(usize),
    Change {
        kind: u16,
        column: u16,
    },
}

/// The sorts of events that one predicate may match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sorts {
    /// By kind: the columns whose changes it may match.
    columns: Vec<Columns>,
    /// The notifications, as bits.
    notifications: u64,
}

impl Sorts {
    pub fn has(&self, sort: Sort) -> bool {
        match sort {
            Sort::Notification(place) => self.notifications >> place & 1 == 1,
            Sort::Change { kind, column } => self.columns[usize::from(kind)].has(column.into()),
        }
    }
}

const _: () = assert!(NOTIFICATIONS_MAX <= u64::BITS as usize);

impl Wanted {
    pub fn new(schema: &Schema, names: &WorldNames) -> Wanted {
        let column = |a: &shared::Attribute| Column {
            name: a.name.clone(),
            is_symbol: a.ty.has_symbols(),
            is_half: a.ty.is_half(),
        };
        let is_visible =
            |column: u16| schema.attributes[usize::from(column)].audience != Audience::Hidden;
        let kind = |kind: &shared::Kind| Kind {
            name: kind.name.clone(),
            columns: kind
                .attributes
                .iter()
                .filter(|a| is_visible(a.column))
                .map(|a| usize::from(a.column))
                .collect(),
            filters: vec![0; schema.attributes.len()],
            wanted: Columns::NONE,
        };
        Wanted {
            columns: schema.attributes.iter().map(column).collect(),
            kinds: schema.kinds.iter().map(kind).collect(),
            notifications: schema
                .notifications
                .iter()
                .map(|n| NotificationFilters {
                    name: n.name.clone(),
                    filters: 0,
                })
                .collect(),
            uses: vec![0; names.vocabulary.len()],
            cells: vec![0; names.cells.len()],
            names: names.clone(),
        }
    }

    /// The columns of a kind whose changes a filter may match.
    pub fn columns(&self, kind: u16) -> Columns {
        self.kinds[usize::from(kind)].wanted
    }

    /// Whether any filter may match a notification, by its place in the schema.
    pub fn notification(&self, place: usize) -> bool {
        self.notifications[place].filters > 0
    }

    /// Whether any filter uses a name.
    pub fn name(&self, name: NameId) -> bool {
        self.uses[usize::from(name.0)] > 0
    }

    /// The cells of an attribute that any filter uses, as bits. `place` is in
    /// [`WorldNames::cells`].
    pub fn cells(&self, place: usize) -> u16 {
        self.cells[place]
    }

    pub fn add(&mut self, predicate: &Predicate) {
        self.count(predicate, |n| *n += 1);
    }

    pub fn remove(&mut self, predicate: &Predicate) {
        self.count(predicate, |n| *n -= 1);
    }

    fn count(&mut self, predicate: &Predicate, mut change: impl FnMut(&mut u32)) {
        for filter in &predicate.filters {
            for constraint in &filter.constraints {
                let uses = &mut self.uses[usize::from(constraint.name.0)];
                change(uses);
                let is_used = u16::from(*uses > 0);
                // The names of cells follow all others.
                let first = self.names.cells.first().map(|cells| cells.names[0].0);
                if let Some(cell) = first.and_then(|first| constraint.name.0.checked_sub(first)) {
                    let (place, bit) = (usize::from(cell) / SHIFTS, usize::from(cell) % SHIFTS);
                    let cells = &mut self.cells[place];
                    *cells = *cells & !(1 << bit) | is_used << bit;
                }
            }
            let columns = self.columns_of(filter);
            for kind in 0..self.kinds.len() {
                if !self.is_of_kind(filter, kind) {
                    continue;
                }
                let kind = &mut self.kinds[kind];
                for column in (columns & kind.columns).iter() {
                    let filters = &mut kind.filters[column];
                    change(filters);
                    match *filters {
                        0 => kind.wanted.remove(column),
                        _ => kind.wanted.insert(column),
                    }
                }
            }
            for place in 0..self.notifications.len() {
                if self.is_of_notification(filter, place) {
                    change(&mut self.notifications[place].filters);
                }
            }
        }
    }

    /// The sorts of events that a predicate may match.
    pub fn sorts(&self, predicate: &Predicate) -> Sorts {
        let mut sorts = Sorts {
            columns: vec![Columns::NONE; self.kinds.len()],
            notifications: 0,
        };
        for filter in &predicate.filters {
            let columns = self.columns_of(filter);
            for (kind, own) in sorts.columns.iter_mut().enumerate() {
                if self.is_of_kind(filter, kind) {
                    *own = *own | columns & self.kinds[kind].columns;
                }
            }
            for place in 0..self.notifications.len() {
                sorts.notifications |= u64::from(self.is_of_notification(filter, place)) << place;
            }
        }
        sorts
    }

    /// The columns whose changes a filter may match.
    fn columns_of(&self, filter: &Filter) -> Columns {
        let names = &self.names;
        let allows = |constraint: &Constraint, column: &Column| {
            let name = constraint.name;
            match () {
                _ if name == names.event => is_like(constraint, CHANGE),
                _ if name == names.attribute => is_like(constraint, &column.name),
                _ if name == names.old || name == names.new => !column.is_symbol,
                _ if name == names.old_symbol || name == names.new_symbol => column.is_symbol,
                _ => names.fields.iter().all(|own| !own.contains(&name)),
            }
        };
        let columns = self.columns.iter().enumerate();
        let allowed = columns.filter(|(_, column)| {
            !column.is_half && filter.constraints.iter().all(|c| allows(c, column))
        });
        allowed.map(|(i, _)| i).collect()
    }

    /// Whether a filter may match an entity of a kind.
    fn is_of_kind(&self, filter: &Filter, kind: usize) -> bool {
        let kind = &self.kinds[kind];
        filter.constraints.iter().all(|constraint| {
            if constraint.name == self.names.kind {
                return is_like(constraint, &kind.name);
            }
            let columns = self.names.columns.iter();
            let column = columns
                .enumerate()
                .find(|(_, name)| **name == Some(constraint.name));
            column.is_none_or(|(column, _)| kind.columns.has(column))
        })
    }

    /// Whether a filter may match a notification.
    fn is_of_notification(&self, filter: &Filter, place: usize) -> bool {
        let names = &self.names;
        let names_of_changes = [
            names.attribute,
            names.old,
            names.new,
            names.old_symbol,
            names.new_symbol,
            names.command,
            names.by,
        ];
        filter.constraints.iter().all(|constraint| {
            let name = constraint.name;
            if name == names.event {
                return is_like(constraint, &self.notifications[place].name);
            }
            let mut others = names.fields.iter().enumerate();
            !names_of_changes.contains(&name)
                && others.all(|(other, own)| other == place || !own.contains(&name))
        })
    }
}

/// Whether a text satisfies a constraint.
fn is_like(constraint: &Constraint, text: &str) -> bool {
    let Value::String(wanted) = &constraint.value else {
        return false;
    };
    match constraint.operator {
        Operator::Equal => text == &**wanted,
        Operator::NotEqual => text != &**wanted,
        Operator::Prefix => text.starts_with(&**wanted),
        Operator::Suffix => text.ends_with(&**wanted),
        Operator::Contains => text.contains(&**wanted),
        _ => false,
    }
}

const SHIFTS: usize = CELL_SHIFTS.len();
/// The value of `event` for a change.
pub const CHANGE: &str = "change";
