//! Births, and the values that newborns are given.

use proc_macro2::Span;
use shared::CommandKind;
use shared::predicate::nearest;
use shared::world::given::{
    COLUMN_BITS, FAR, FAR_SHIFT, GIVEN_MAX, GIVEN_PER_COMMAND, birth_word, column_bits, far_of,
    is_far, values_word,
};
use syn::spanned::Spanned;

use super::statement::strip;
use super::{Checked, Lower};
use crate::diagnostic::{Diagnostic, one_of};
use crate::ir::{After, Binary, Operand, Point};
use crate::parse::name_of;
use crate::types::{Type, Value};

/// The token of births that no client waits for.
const POPULATION_TOKEN: i32 = -1;

/// What is to be born.
pub(super) struct Newborn {
    pub kind: Operand,
    pub given: Vec<Given>,
}

/// A value that a newborn is given.
#[derive(Clone, Copy)]
pub(super) struct Given {
    pub column: u16,
    pub value: Operand,
    /// Whether its kind can have the value; `None`: it surely can.
    can: Option<Operand>,
}

impl<'a> Lower<'a> {
    /// `spawn("kind", place)` and `spawn(Kind { attribute: value }, place)`, of a thing without a
    /// place. It gives a value only where a name is bound to it.
    pub(super) fn spawn(
        &mut self,
        what: &'a syn::Expr,
        place: Option<&'a syn::Expr>,
    ) -> Checked<Value> {
        let Some(newborn) = self.newborn(what)? else {
            return Ok(Value::UNIT);
        };
        let place = self.birthplace(newborn.kind, what, place)?;
        // Their births follow the values at once, so that no limit parts them.
        let mut given = newborn.given;
        given.sort_by_key(|given| is_far(given.column));
        let commands = given.chunks(GIVEN_PER_COMMAND);
        let kind = match newborn.kind {
            Operand::Const(kind) => birth_word(kind as u16, commands.len()).into(),
            kind => kind,
        };
        for given in commands {
            let words = self.values_words(given);
            self.schedule(birth(words));
        }
        let mut words = vec![kind, Operand::Const(POPULATION_TOKEN)];
        words.extend(&place[..self.unit.dimensions]);
        self.schedule_call(birth(words))
    }

    /// Where an entity of a kind is born. A kind that only the run knows may be one of things, so a
    /// place is given, which these don't take.
    pub(super) fn birthplace(
        &mut self,
        kind: Operand,
        what: &'a syn::Expr,
        place: Option<&'a syn::Expr>,
    ) -> Checked<Point> {
        let known = kind.constant().and_then(|kind| u16::try_from(kind).ok());
        let thing = known.filter(|&kind| self.unit.schema.is_thing(kind));
        match (thing, place) {
            (None, Some(place)) => {
                let place = self.place_of(place)?;
                Ok(self.nearest_in_plane(place))
            }
            (Some(_), None) => Ok([Operand::ZERO; 3]),
            (None, None) => {
                let message = "a newborn needs a place";
                let label = "expected `spawn(kind, place)`";
                Err(self.problem(what.span(), message, label))
            }
            (Some(kind), Some(place)) => {
                let name = &self.unit.schema.kinds[usize::from(kind)].name;
                let message = format!("a `{name}` has no place");
                let label = "expected `spawn(Kind { holder: entity })`";
                Err(self.problem(place.span(), message, label))
            }
        }
    }

    /// The words of a command with values for a birth.
    fn values_words(&mut self, given: &[Given]) -> Vec<Operand> {
        let far = far_of(given.iter().map(|given| given.column)) as i32;
        let none = values_word([0; GIVEN_PER_COMMAND]);
        let mut columns = Operand::Const(none | far << FAR_SHIFT);
        let mut values = [Operand::ZERO; GIVEN_PER_COMMAND];
        for (n, word) in values.iter_mut().enumerate() {
            let none = i32::from(FAR);
            let column = match given.get(n) {
                None => Operand::Const(none),
                Some(&Given { column, value, can }) => {
                    *word = value;
                    let column = column_bits(column);
                    let can = can.unwrap_or(Operand::Const(1));
                    let less = self.binary(Binary::Mul, can, (none - i32::from(column)).into());
                    self.binary(Binary::Sub, none.into(), less)
                }
            };
            let bits = (n as u32 * COLUMN_BITS).cast_signed();
            let column = self.binary(Binary::Shl, column, bits.into());
            columns = self.binary(Binary::Or, columns, column);
        }
        [columns].into_iter().chain(values).collect()
    }

    /// What is to be born; `None` if a value of it is never there.
    pub(super) fn newborn(&mut self, what: &'a syn::Expr) -> Checked<Option<Newborn>> {
        let syn::Expr::Struct(item) = strip(what) else {
            let kind = self.expression_of(what, Type::Kind)?.operand();
            if let Some(kind) = kind.constant() {
                self.check_born(kind, what.span())?;
            }
            let given = vec![];
            return Ok(Some(Newborn { kind, given }));
        };
        let kind = self.named_kind(item)?;
        self.check_born(i32::from(kind), item.path.span())?;
        if let Some(rest) = &item.rest {
            let message = "a newborn has all attributes of its kind";
            let label = "leave this out: the world file says what the others are";
            return Err(self.problem(rest.span(), message, label));
        }
        let mut given: Vec<Given> = vec![];
        for field in &item.fields {
            let syn::Member::Named(member) = &field.member else {
                let message = "attributes have names";
                return Err(self.problem(field.span(), message, "expected `name: value`"));
            };
            let column = self.given_column(kind, &name_of(member), member.span())?;
            if given.iter().any(|other| other.column == column) {
                let message = format!("`{}` is given twice", name_of(member));
                return Err(self.problem(member.span(), message, "expected one value"));
            }
            match &self.given_value(kind, column, &field.expr)?[..] {
                [] => return Ok(None),
                values => given.extend(values),
            }
        }
        if given.len() > GIVEN_MAX {
            let message = "a birth can't be given so many values";
            let label = format!("at most {GIVEN_MAX}, found {}", given.len());
            return Err(self.problem(item.span(), message, label));
        }
        let kind = Operand::Const(kind.into());
        Ok(Some(Newborn { kind, given }))
    }

    /// Nothing is born of the kind that the whole world shares.
    fn check_born(&self, kind: i32, span: Span) -> Checked<()> {
        let shared = self.unit.schema.world_kind.map(i32::from);
        if shared != Some(kind) {
            return Ok(());
        }
        let message = "there is one world, which is nowhere";
        Err(self.problem(span, message, "expected another kind"))
    }

    /// The kind that `Name { … }` names.
    fn named_kind(&self, item: &syn::ExprStruct) -> Checked<u16> {
        let Some(ident) = item.path.get_ident() else {
            return Err(self.problem(item.path.span(), "scripts have no paths", "expected a name"));
        };
        let name = name_of(ident);
        let kinds = &self.unit.schema.kinds;
        let mut numbered = (0..).zip(kinds);
        if let Some((kind, _)) = numbered.find(|(_, kind)| type_name(&kind.name) == name) {
            return Ok(kind);
        }
        let message = format!("there is no kind `{name}`");
        let names: Vec<String> = kinds.iter().map(|kind| type_name(&kind.name)).collect();
        let label = "a kind `red_wolf` is written `RedWolf { … }`";
        Err(match nearest(&name, names.iter().map(String::as_str)) {
            Some(near) => self.helped(
                ident.span(),
                message,
                label,
                format!("did you mean `{near}`?"),
            ),
            None => self.problem(ident.span(), message, label),
        })
    }

    /// The column of an attribute that a newborn of a kind can be given.
    fn given_column(&self, kind: u16, name: &str, span: Span) -> Checked<u16> {
        let schema = self.unit.schema;
        let axes = &["x", "y", "z"][..self.unit.dimensions];
        if name == "position" || axes.contains(&name) {
            let message = "a newborn's place is no field";
            let label = "expected `spawn(Kind { … }, place)`";
            return Err(self.problem(span, message, label));
        }
        let own = &schema.kinds[usize::from(kind)];
        let name_of = |column: u16| schema.attributes[usize::from(column)].name.as_str();
        let columns = own.attributes.iter().map(|own| own.column);
        let columns = columns.filter(|column| usize::from(*column) >= self.unit.dimensions);
        if let Some(column) = columns.clone().find(|&column| name_of(column) == name) {
            return Ok(column);
        }
        let message = format!("`{}` has no attribute `{name}`", own.name);
        let names: Vec<&str> = columns.map(name_of).collect();
        Err(match nearest(name, names.iter().copied()) {
            Some(near) => self.helped(span, message, "", format!("did you mean `{near}`?")),
            None => self.problem(span, message, one_of(&names)),
        })
    }

    /// The value of a newborn's attribute, by column; empty if it is never there.
    fn given_value(&mut self, kind: u16, column: u16, from: &'a syn::Expr) -> Checked<Vec<Given>> {
        let ty = Type::of_column(self.unit.schema, usize::from(column));
        if ty == Type::Text {
            let message = "a newborn has no text";
            let label = "a command of a client writes it later";
            return Err(self.problem(from.span(), message, label));
        }
        if !ty.is_symbol() {
            let value = self.expression_of(from, ty)?;
            if value.ty == Type::Never {
                return Ok(vec![]);
            }
            let surely = |(column, value)| Given {
                column,
                value,
                can: None,
            };
            if value.ty == Type::Long {
                let within = self.wide_within_bounds(column, value);
                let both = (column..).zip(within.halves());
                return Ok(both.map(surely).collect());
            }
            let value = self.stored(value);
            return Ok(vec![surely((column, value))]);
        }
        let value = self.expression(from, Some(ty))?;
        if value.ty == Type::Never {
            return Ok(vec![]);
        }
        if !value.ty.is_symbol() {
            self.convert(value, ty, from)?;
        }
        let (value, own) = (value.operand(), self.unit.symbols.of(kind, column));
        let Some(number) = value.constant() else {
            let can = Some(self.is_one_of(value, own));
            return Ok(vec![Given { column, value, can }]);
        };
        if own.binary_search(&number).is_err() {
            return Err(self.no_symbol_of(kind, column, number, from.span()));
        }
        Ok(vec![Given {
            column,
            value,
            can: None,
        }])
    }

    /// A kind's attribute can't have a symbol.
    fn no_symbol_of(&self, kind: u16, column: u16, number: i32, span: Span) -> Box<Diagnostic> {
        let schema = self.unit.schema;
        let text = |number: i32| {
            schema
                .symbols
                .get(number as usize)
                .map_or("", String::as_str)
        };
        let own = self.unit.symbols.of(kind, column).iter();
        let names: Vec<&str> = own.map(|&number| text(number)).collect();
        let attribute = &schema.attributes[usize::from(column)].name;
        let kind = &schema.kinds[usize::from(kind)].name;
        let message = format!("`{attribute}` of `{kind}` can't be \"{}\"", text(number));
        self.problem(span, message, one_of(&names))
    }
}

impl Lower<'_> {
    /// `Name { … }` where neither a kind nor a notification can stand.
    pub(super) fn misplaced(&self, item: &syn::ExprStruct) -> Box<Diagnostic> {
        let name = item.path.get_ident().map(name_of).unwrap_or_default();
        let mut kinds = self.unit.schema.kinds.iter();
        if kinds.any(|kind| type_name(&kind.name) == name) {
            let message = "a kind with values only stands in `spawn`";
            return self.problem(item.span(), message, "expected `spawn(Kind { … }, place)`");
        }
        let label = "expected `tell(Name { … }, around(point, distance))`";
        self.problem(item.span(), "a notification only stands in `tell`", label)
    }
}

/// The name of a kind as scripts write it before its values: `red_wolf` as `RedWolf`.
pub(super) fn type_name(kind: &str) -> String {
    let words = kind.split('_').map(|word| {
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.chain(letters).collect::<String>()
    });
    words.collect()
}

fn birth(words: Vec<Operand>) -> After {
    After {
        ticks: Operand::Const(1),
        actor: None,
        command: CommandKind::SPAWN.0,
        words,
    }
}
