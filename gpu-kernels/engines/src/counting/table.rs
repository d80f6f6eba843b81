use gpu_kernels::content::Subscriptions;
use gpu_kernels::content::compile::Condition;

/// How the constraints of one name are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As the subscriptions' index has them.
    AsFound,
    /// By operator, then value: neighbours take the same branch (section 4.2).
    ByOperator,
}

/// Constraints by name, and what they count for (figure 2).
#[derive(Default)]
pub struct Table {
    /// Where the constraints of each name begin, and the end.
    pub row_offsets: Vec<u32>,
    pub constraints: Vec<Counted>,
    pub filters: Vec<CountedFilter>,
    /// Subscribers of filters without constraints.
    pub always: Vec<u32>,
}

/// A constraint, and the filter that it is part of.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Counted {
    pub condition: Condition,
    pub filter: u32,
    pub padding: u32,
}

device::plain!(Counted {
    condition: Condition,
    filter: u32,
    padding: u32,
});

/// A filter, and its subscriber.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CountedFilter {
    /// How many constraints it has.
    pub size: u32,
    pub subscriber: u32,
}

device::plain!(CountedFilter {
    size: u32,
    subscriber: u32,
});

impl Table {
    pub fn build(subscriptions: &Subscriptions, order: Order) -> Table {
        let names = subscriptions.vocabulary().len();
        let mut rows: Vec<Vec<Counted>> = vec![vec![]; names];
        let mut table = Table::default();
        for (subscriber, conditions) in subscriptions.compiled_filters() {
            if conditions.is_empty() {
                table.always.push(subscriber);
                continue;
            }
            let filter = table.filters.len() as u32;
            let size = conditions.len() as u32;
            table.filters.push(CountedFilter { size, subscriber });
            for &condition in conditions {
                rows[usize::from(condition.name)].push(Counted {
                    condition,
                    filter,
                    padding: 0,
                });
            }
        }
        table.row_offsets.push(0);
        for mut row in rows {
            if order == Order::ByOperator {
                let key = |c: &Condition| (c.kind.0, c.low, c.high);
                row.sort_by_key(|counted| key(&counted.condition));
            }
            table.constraints.extend(row);
            table.row_offsets.push(table.constraints.len() as u32);
        }
        table
    }

    /// Names that constraints may have.
    pub fn names(&self) -> usize {
        self.row_offsets.len().saturating_sub(1)
    }

    /// Bytes of the tables.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.row_offsets[..])
            + size_of_val(&self.constraints[..])
            + size_of_val(&self.filters[..])
    }
}
