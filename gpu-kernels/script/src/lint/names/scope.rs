//! The variables of blocks.

use proc_macro2::Span;

/// A variable or a parameter.
pub struct Variable {
    pub name: String,
    pub span: Span,
    pub is_parameter: bool,
    pub is_mutable: bool,
    pub is_read: bool,
    /// The hidden attribute whose value it has.
    pub hidden: Option<String>,
}

/// The variables of all blocks around a place.
#[derive(Default)]
pub struct Scopes(Vec<Vec<Variable>>);

impl Scopes {
    pub fn open(&mut self) {
        self.0.push(vec![]);
    }

    pub fn declare(&mut self, variable: Variable) {
        if let Some(scope) = self.0.last_mut() {
            scope.push(variable);
        }
    }

    /// The newest variable of a name.
    pub fn find(&mut self, name: &str) -> Option<&mut Variable> {
        let all = self.0.iter_mut().rev();
        all.flat_map(|scope| scope.iter_mut().rev())
            .find(|variable| variable.name == name)
    }

    /// Ends the innermost scope, and returns its variables that were not read.
    pub fn close(&mut self) -> Vec<Variable> {
        let scope = self.0.pop().unwrap_or_default();
        let unread = scope.into_iter().filter(|variable| !variable.is_read);
        unread.collect()
    }
}
