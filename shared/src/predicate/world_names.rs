use super::{ContentError, NameId, ValueType, Vocabulary};
use crate::world::attribute::{AttributeType, Audience};
use crate::world::schema::Schema;

/// The names that a world's predicates may use.
///
/// | name | of | value |
/// | --- | --- | --- |
/// | `event` | all | `"change"`, or the notification's name |
/// | `kind` | all | the name of the entity's kind |
/// | `entity` | all | the reference of the entity, as commands take it |
/// | an attribute's name | all | the entity's value after the tick, or at its death |
/// | `attribute` | changes | the name of what changed |
/// | `old`, `new` | changes | its values, where they are numbers |
/// | `old_symbol`, `new_symbol` | changes | its values, where they are symbols |
/// | `command` | changes | the name of the first command that wanted it |
/// | `pick.item`, … | notifications | their fields, behind the notification's name |
///
/// The entity is the one that changed, or the notification's source. Its attributes are
/// those that its kind has. A bool is 0 or 1, a reference a whole number (-1: nobody), a
/// symbol its text. An attribute that is told to nobody has no name here.
#[derive(Clone, Debug)]
pub struct WorldNames {
    pub vocabulary: Vocabulary,
    pub event: NameId,
    pub kind: NameId,
    pub entity: NameId,
    pub attribute: NameId,
    pub old: NameId,
    pub new: NameId,
    pub old_symbol: NameId,
    pub new_symbol: NameId,
    pub command: NameId,
    /// By column; `None` for those that are told to nobody.
    pub columns: Vec<Option<NameId>>,
    /// By place in [`Schema::notifications`], then by field.
    pub fields: Vec<Vec<NameId>>,
    /// Which client the notification is for, if it is for one alone. No text means it.
    pub client: NameId,
    /// No text means these, either. See [`Cells`].
    pub cells: Vec<Cells>,
}

/// Names for where in its range an attribute's value is: its raw value, shifted right by
/// each of [`CELL_SHIFTS`]. Whoever asks for a range within one such cell can so be found
/// by equality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    pub column: usize,
    pub names: [NameId; CELL_SHIFTS.len()],
}

/// Cells of 4 raw units to 16 million.
pub const CELL_SHIFTS: [u32; 12] = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24];
/// Attributes with cells: so all names together stay below what a notification may have.
const CELLED_MAX: usize = 8;

impl WorldNames {
    /// An error where an attribute's name is no name for predicates, or is taken.
    pub fn new(schema: &Schema) -> Result<WorldNames, ContentError> {
        let mut vocabulary = Vocabulary::new();
        let client = vocabulary.declare_unnamed(ValueType::Integer)?;
        let mut declare = |name: &str, ty| vocabulary.declare(name, ty);
        let event = declare("event", ValueType::String)?;
        let kind = declare("kind", ValueType::String)?;
        let entity = declare("entity", ValueType::Integer)?;
        let attribute = declare("attribute", ValueType::String)?;
        let old = declare("old", ValueType::Float)?;
        let new = declare("new", ValueType::Float)?;
        let old_symbol = declare("old_symbol", ValueType::String)?;
        let new_symbol = declare("new_symbol", ValueType::String)?;
        let command = declare("command", ValueType::String)?;
        let mut fields = vec![];
        for notification in &schema.notifications {
            let mut own = vec![];
            for field in &notification.fields {
                let name = format!("{}.{}", notification.name, field.name);
                own.push(declare(&name, value_type(field.ty))?);
            }
            fields.push(own);
        }
        let mut columns = vec![];
        for attribute in &schema.attributes {
            columns.push(match attribute.audience {
                Audience::Hidden => None,
                _ => Some(declare(&attribute.name, value_type(attribute.ty))?),
            });
        }
        let mut cells = vec![];
        for (column, attribute) in schema.attributes.iter().enumerate() {
            let is_range = matches!(attribute.ty, AttributeType::I32 | AttributeType::Fixed);
            if !is_range || columns[column].is_none() || cells.len() == CELLED_MAX {
                continue;
            }
            let mut names = [NameId(0); CELL_SHIFTS.len()];
            for name in &mut names {
                *name = vocabulary.declare_unnamed(ValueType::Integer)?;
            }
            cells.push(Cells { column, names });
        }
        Ok(WorldNames {
            vocabulary,
            cells,
            event,
            kind,
            entity,
            attribute,
            old,
            new,
            old_symbol,
            new_symbol,
            command,
            columns,
            fields,
            client,
        })
    }
}

/// As which type predicates compare an attribute's values.
pub fn value_type(ty: AttributeType) -> ValueType {
    match ty {
        AttributeType::I32 | AttributeType::Bool | AttributeType::Entity => ValueType::Integer,
        AttributeType::Fixed => ValueType::Float,
        AttributeType::Symbol => ValueType::String,
    }
}
