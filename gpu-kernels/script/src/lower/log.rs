//! `log("text", value, …)`: for people who watch a world. A world itself runs nothing of it.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::sites::What;
use super::statement::strip;
use super::{Checked, Line, Lower};
use crate::ir::Inst;
use crate::types::{Type, Value};

/// The most bytes of a text, and the most values with it.
const TEXT_BYTES_MAX: usize = 256;
const VALUES_MAX: usize = 8;

impl<'a> Lower<'a> {
    pub(super) fn log(
        &mut self,
        text: &'a syn::Expr,
        values: &[&'a syn::Expr],
        span: Span,
    ) -> Checked<Value> {
        let syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(literal),
            ..
        }) = strip(text)
        else {
            let label = "expected `log(\"text\", value, …)`";
            return Err(self.problem(text.span(), "`log` begins with a text", label));
        };
        let literal = literal.value();
        if literal.len() > TEXT_BYTES_MAX || values.len() > VALUES_MAX {
            let label = format!("at most {TEXT_BYTES_MAX} bytes and {VALUES_MAX} values");
            return Err(self.problem(span, "this is too much to log", label));
        }
        let (kept, labels) = (self.lines.len(), self.labels);
        let mut logged = vec![];
        for &value in values {
            let given = self.expression(value, None)?;
            if given.ty == Type::Unit {
                return Err(self.problem(value.span(), "this gives no value", "expected a value"));
            }
            logged.push(given);
        }
        if !self.lines[kept..]
            .iter()
            .all(|line| only_reads(line, labels))
        {
            let label = "what is logged only reads attributes and computes";
            let help = "give it a name before: `let drawn = random(1, 6); log(\"drawn\", drawn);`";
            return Err(self.helped(span, "this has no place in `log`", label, help));
        }
        if !self.unit.has_sites {
            self.lines.truncate(kept);
            return Ok(Value::UNIT);
        }
        // The budget is that of the world, which runs nothing of this.
        let lines = self.lines.split_off(kept).into_iter();
        let lines = lines.filter(|line| !matches!(line, Line::Step { .. }));
        self.lines.extend(lines);
        self.site(&span, || What::Log {
            text: literal,
            values: logged,
        });
        Ok(Value::UNIT)
    }
}

/// Whether a line has no effect on the rest of the run. Labels from `labels` on are its own.
fn only_reads(line: &Line, labels: u32) -> bool {
    match line {
        Line::Inst(inst) => match inst.target() {
            Some(target) => target >= labels && !matches!(inst, Inst::NearNext(..)),
            None => inst.is_pure(),
        },
        Line::Label(_) | Line::Step { .. } | Line::Site(_) => true,
    }
}
