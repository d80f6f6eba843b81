//! Where instructions come from, and what happens there: for warnings, and for those who watch a
//! run. What a world runs has no sites.

use std::ops::Range;

use syn::spanned::Spanned;

use super::collection::ColumnRef;
use super::{INSTRUCTIONS_MAX, Lower};
use crate::ir::{Code, Index, Operand, Point, Reg};
use crate::types::{Type, Value};

/// Instructions, not simplified, and what happens at some of them.
pub struct Sited {
    pub code: Code,
    /// By ascending place: the instruction there does nothing.
    pub sites: Vec<(u32, Site)>,
}

/// A place of a text where something happens in a run.
pub struct Site {
    /// The text's number.
    pub file: usize,
    /// In bytes.
    pub span: Range<usize>,
    pub what: What,
}

/// What happens at a place, after the instructions before it.
pub enum What {
    /// An attribute was read: of the entity in a slot, from this column on, or at an index.
    Read {
        slot: Operand,
        column: u16,
        index: Option<Index>,
        value: Value,
    },
    /// An update of an attribute was given.
    Update {
        slot: Operand,
        column: u16,
        index: Option<Index>,
        form: Form,
        value: Value,
    },
    /// A name got a value; `require` is a condition.
    Value { name: String, value: Value },
    /// A condition that does not hold ends the run here.
    Unmet { reason: Option<String> },
    /// `log("…", value, …)`
    Log { text: String, values: Vec<Value> },
    /// A step of a test.
    Test(TestStep),
}

/// What only tests do.
pub enum TestStep {
    /// An entity of a kind comes to a place; the register gets its slot.
    Spawn {
        slot: Reg,
        kind: Operand,
        place: Point,
    },
    /// Attributes from a column on, or at an index, get values at once.
    Set {
        slot: Operand,
        column: u16,
        index: Option<Index>,
        words: Vec<Operand>,
    },
    /// A command for the next tick.
    Send {
        command: u16,
        actor: Option<Operand>,
        words: Vec<Operand>,
    },
    /// The register gets the number of the tick that comes next.
    Now(Reg),
    /// So many ticks pass.
    Ticks(Operand),
    /// Ends the test unless it is true.
    Assert { condition: Operand, text: String },
}

/// How an update is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `+=`
    Add,
    /// `-=`
    Take,
    /// `=`, `.min(…)`, `.max(…)`
    Set,
}

impl Lower<'_> {
    /// The most lines of a function.
    pub(super) fn lines_max(&self) -> usize {
        match self.unit.has_sites {
            true => INSTRUCTIONS_MAX * 4,
            false => INSTRUCTIONS_MAX,
        }
    }

    /// The place is looked for only where it is needed: for an expression, that takes long.
    pub(super) fn site(&mut self, at: &dyn Spanned, what: impl FnOnce() -> What) {
        if !self.unit.has_sites {
            return;
        }
        let file = self.file();
        let site = Site {
            file,
            span: self.unit.files[file].range(at.span()),
            what: what(),
        };
        self.lines.push(super::Line::Site(Box::new(site)));
    }

    pub(super) fn read_site(
        &mut self,
        at: &dyn Spanned,
        slot: Operand,
        place: ColumnRef,
        value: Value,
    ) {
        self.site(at, || What::Read {
            slot,
            column: place.column,
            index: place.index,
            value,
        });
    }

    pub(super) fn update_site(
        &mut self,
        at: &dyn Spanned,
        slot: Operand,
        place: ColumnRef,
        op: Option<&syn::BinOp>,
        value: Value,
    ) {
        let form = match op {
            Some(syn::BinOp::AddAssign(_)) => Form::Add,
            Some(_) => Form::Take,
            None => Form::Set,
        };
        self.site(at, || What::Update {
            slot,
            column: place.column,
            index: place.index,
            form,
            value,
        });
    }

    pub(super) fn value_site(&mut self, at: &dyn Spanned, name: &str, value: Value) {
        if !matches!(value.ty, Type::Unit | Type::Never) {
            self.site(at, || What::Value {
                name: name.to_owned(),
                value,
            });
        }
    }
}
