//! The `a-tree` crate (Ji and Jacobsen's A-Tree, SIGMOD 2021), which shares common
//! parts of expressions. It takes numbers only: its language has no patterns.

use std::time::{Duration, Instant};

use a_tree::{ATree, AttributeDefinition};
use anyhow::anyhow;
use gpu_kernels::content::compile::{Condition, ConditionKind};
use gpu_kernels::content::{Batch, Subscriptions};
use program::note;

use crate::engines::content::subject::{Checksum, Subject};

pub struct Tree {
    tree: ATree<u64>,
    names: Vec<String>,
    /// The subscriber of each filter.
    subscribers: Vec<u32>,
    found: Vec<(u32, u32)>,
    reached: Vec<u32>,
    stamp: u32,
}

impl Tree {
    /// None if that takes longer.
    pub fn build(subscriptions: &Subscriptions, limit: Duration) -> anyhow::Result<Option<Tree>> {
        let begin = Instant::now();
        let count = subscriptions.vocabulary().len();
        let names: Vec<String> = (0..count).map(|i| format!("n{i}")).collect();
        let definitions: Vec<_> = names
            .iter()
            .map(|n| AttributeDefinition::integer(n))
            .collect();
        let tree = ATree::new(&definitions).map_err(|e| anyhow!("a-tree: {e}"))?;
        let mut tree = Tree {
            tree,
            names,
            subscribers: vec![],
            found: vec![],
            reached: vec![0; subscriptions.limits().subscribers],
            stamp: 0,
        };
        for (subscriber, conditions) in subscriptions.compiled_filters() {
            if begin.elapsed() > limit {
                let done = tree.subscribers.len();
                note!("a-tree: only {done} filters after {limit:?}: left out");
                return Ok(None);
            }
            let id = tree.subscribers.len() as u64;
            let text: Vec<String> = conditions.iter().map(expression).collect();
            tree.tree
                .insert(&id, &text.join(" and "))
                .map_err(|e| anyhow!("a-tree: {e}"))?;
            tree.subscribers.push(subscriber);
        }
        Ok(Some(tree))
    }
}

impl Subject for Tree {
    fn backend(&self) -> &'static str {
        "baseline"
    }

    fn approach(&self) -> String {
        "a-tree, 1 thread".to_owned()
    }

    /// Unknown: the crate has no such call.
    fn bytes(&self, _: &Subscriptions) -> usize {
        0
    }

    fn match_batch(&mut self, _: &mut Subscriptions, batch: &Batch) -> anyhow::Result<()> {
        self.found.clear();
        for notification in 0..batch.len() {
            self.stamp += 1;
            let mut event = self.tree.make_event();
            for attribute in batch.attributes_of(notification) {
                let name = &self.names[attribute.name as usize];
                event
                    .with_integer(name, value(attribute.value))
                    .map_err(|e| anyhow!("a-tree: {e}"))?;
            }
            let event = event.build().map_err(|e| anyhow!("a-tree: {e}"))?;
            let report = self
                .tree
                .search(&event)
                .map_err(|e| anyhow!("a-tree: {e}"))?;
            for &&id in report.matches() {
                let subscriber = self.subscribers[id as usize];
                let reached = &mut self.reached[subscriber as usize];
                if *reached != self.stamp {
                    *reached = self.stamp;
                    self.found.push((notification as u32, subscriber));
                }
            }
        }
        Ok(())
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_pairs(&self.found)
    }
}

fn expression(condition: &Condition) -> String {
    let name = condition.name;
    let [low, high] = [condition.low, condition.high].map(value);
    match condition.kind {
        ConditionKind::NOT => format!("n{name} <> {low}"),
        _ if condition.is_point() => format!("n{name} = {low}"),
        _ if condition.high == u64::MAX => format!("n{name} >= {low}"),
        _ if condition.low == 0 => format!("n{name} <= {high}"),
        _ => format!("(n{name} >= {low} and n{name} <= {high})"),
    }
}

/// The integer of a key.
fn value(key: u64) -> i64 {
    (key ^ 1 << 63) as i64
}
