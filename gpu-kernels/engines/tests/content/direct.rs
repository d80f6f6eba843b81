//! The oracle: predicates evaluated as they are written. It shares only the model's
//! types with the engine.

use std::cmp::Ordering;

use shared::predicate::{Constraint, Notification, Operator, Predicate, Value};

pub fn satisfies(notification: &Notification, predicate: &Predicate) -> bool {
    let holds = |constraint: &Constraint| {
        let mut values = notification.attributes().iter();
        let value = values.find(|(name, _)| *name == constraint.name);
        value.is_some_and(|(_, value)| compare(value, constraint.operator, &constraint.value))
    };
    let all = |constraints: &[Constraint]| constraints.iter().all(holds);
    predicate
        .filters
        .iter()
        .any(|filter| all(&filter.constraints))
}

fn compare(value: &Value, operator: Operator, constant: &Value) -> bool {
    if let (Value::String(value), Value::String(constant)) = (value, constant) {
        return match operator {
            Operator::Equal => value == constant,
            Operator::NotEqual => value != constant,
            Operator::Prefix => value.starts_with(&**constant),
            Operator::Suffix => value.ends_with(&**constant),
            Operator::Contains => value.contains(&**constant),
            _ => false,
        };
    }
    let Some(order) = order(value, constant) else {
        return false;
    };
    match operator {
        Operator::Equal => order == Ordering::Equal,
        Operator::NotEqual => order != Ordering::Equal,
        Operator::Less => order == Ordering::Less,
        Operator::LessOrEqual => order != Ordering::Greater,
        Operator::Greater => order == Ordering::Greater,
        Operator::GreaterOrEqual => order != Ordering::Less,
        _ => false,
    }
}

fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Integer(a), Value::Float(b)) => Some(integer_and_float(*a, *b)),
        (Value::Float(a), Value::Integer(b)) => Some(integer_and_float(*b, *a).reverse()),
        _ => None,
    }
}

/// Exact: any float whose magnitude is below 2^100 has its whole part in 128 bits.
fn integer_and_float(a: i64, b: f64) -> Ordering {
    if b >= 1e30 {
        return Ordering::Less;
    }
    if b <= -1e30 {
        return Ordering::Greater;
    }
    let whole = b.trunc();
    let by_whole = i128::from(a).cmp(&(whole as i128));
    by_whole.then_with(|| 0.0.partial_cmp(&(b - whole)).expect("no NaN"))
}
