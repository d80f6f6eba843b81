use gpu_kernels::TickOutput;
use gpu_kernels::listen::Before;
use shared::predicate::{
    Constraint, NameId, Operator, Predicate, PredicateLimits, Value, WorldNames,
};
use shared::{AttributeValue, CommandKind, EntityId, Slot};

use super::scenario::{Mirror, Scenario, client_of};

/// The baseline: tries every predicate on one change after the other.
pub struct Direct<'a> {
    scenario: &'a Scenario,
    names: WorldNames,
    /// Client and predicate of each subscription.
    predicates: Vec<(u32, Predicate)>,
}

impl Direct<'_> {
    pub fn new(scenario: &Scenario) -> Direct<'_> {
        let names = WorldNames::new(&scenario.config.schema).expect("the world has such names");
        let limits = PredicateLimits::default();
        let parse = |(i, text): (u32, &String)| {
            let predicate = Predicate::parse(text, &names.vocabulary, &limits);
            (client_of(i).0, predicate.expect("its own texts parse"))
        };
        Direct {
            scenario,
            predicates: (0..).zip(&scenario.texts).map(parse).collect(),
            names,
        }
    }

    /// Adds (client, slot, column) for each predicate that the change satisfies.
    pub fn try_change(
        &self,
        before: &Mirror,
        output: &TickOutput,
        (slot, column, new): (Slot, u16, i32),
        matches: &mut Vec<(u32, u32, u16)>,
    ) {
        let values = self.values(before, output, slot, column, new);
        for (client, predicate) in &self.predicates {
            let holds = |c: &Constraint| {
                values[usize::from(c.name.0)]
                    .as_ref()
                    .is_some_and(|v| satisfies(v, c))
            };
            if predicate
                .filters
                .iter()
                .any(|f| f.constraints.iter().all(holds))
            {
                matches.push((*client, slot.0, column));
            }
        }
    }

    /// The values of a change, by name.
    fn values(
        &self,
        before: &Mirror,
        output: &TickOutput,
        slot: Slot,
        column: u16,
        new: i32,
    ) -> Vec<Option<Value>> {
        let (names, schema) = (&self.names, &self.scenario.config.schema);
        let mut values = vec![None; names.vocabulary.len()];
        let mut put = |name: NameId, value| values[usize::from(name.0)] = Some(value);
        let mut row = before.row(slot).to_vec();
        let old = row[usize::from(column)];
        let i = output
            .changes
            .slots
            .partition_point(|&other| other < slot.0);
        let range = output.changes.offsets[i] as usize..output.changes.offsets[i + 1] as usize;
        let (mut command, mut by) = (None, None);
        for place in range {
            let own = output.changes.columns[place];
            row[usize::from(own)] = output.changes.values[place];
            if own == column {
                command = output.changes.causes.get(place).copied();
                by = output.changes.actors.get(place).copied();
            }
        }
        put(names.event, "change".into());
        let kind = &schema.kinds[usize::from(before.kind(slot))];
        put(names.kind, kind.name.as_str().into());
        let reference = before.id(slot).reference().0;
        put(names.entity, Value::Integer(reference.into()));
        let attribute = &schema.attributes[usize::from(column)];
        put(names.attribute, attribute.name.as_str().into());
        let float = |raw: i32| AttributeValue::of_word(attribute.ty, raw).number();
        put(names.old, Value::Float(float(old)));
        put(names.new, Value::Float(float(new)));
        if let Some(command) = command.and_then(|kind| schema.command(CommandKind(kind))) {
            put(names.command, command.name.as_str().into());
        }
        if let Some(by) = by.filter(|&by| by != EntityId::NONE.slot.0) {
            let reference = before.id(Slot(by)).reference().0;
            put(names.by, Value::Integer(reference.into()));
        }
        for (own, name) in kind
            .attributes
            .iter()
            .map(|a| usize::from(a.column))
            .map(|c| (c, names.columns[c]))
        {
            let Some(name) = name else {
                continue;
            };
            put(
                name,
                match AttributeValue::in_row(schema.attributes[own].ty, &row, own) {
                    AttributeValue::Fixed(number) => Value::Float(number.to_f64()),
                    AttributeValue::I64(number) => Value::Integer(number),
                    AttributeValue::I32(_)
                    | AttributeValue::Bool(_)
                    | AttributeValue::Entity(_)
                    | AttributeValue::Symbol(_)
                    | AttributeValue::Text(_)
                    | AttributeValue::High(_) => Value::Integer(row[own].into()),
                },
            );
        }
        values
    }
}

/// Covers the operators that the scenario uses.
fn satisfies(value: &Value, constraint: &Constraint) -> bool {
    if let (Value::String(own), Value::String(wanted)) = (value, &constraint.value) {
        return match constraint.operator {
            Operator::Equal => own == wanted,
            _ => own != wanted,
        };
    }
    let number = |value: &Value| match *value {
        Value::Integer(n) => n as f64,
        Value::Float(n) => n,
        Value::String(_) => f64::NAN,
    };
    let (own, wanted) = (number(value), number(&constraint.value));
    match constraint.operator {
        Operator::Equal => own == wanted,
        Operator::Less => own < wanted,
        Operator::LessOrEqual => own <= wanted,
        Operator::Greater => own > wanted,
        Operator::GreaterOrEqual => own >= wanted,
        _ => own != wanted,
    }
}
