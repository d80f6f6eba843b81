//! The names that the predicates of a world may use.

use super::value::ValueType;
use super::vocabulary::{NameError, NameId, Vocabulary};
use crate::world::attribute::{AttributeType, Audience};
use crate::world::schema::Schema;

/// The names that the predicates of a world may use.
///
/// | name | present in | value |
/// | --- | --- | --- |
/// | `event` | all | `"change"`, or the notification's name |
/// | `kind` | all | the name of the entity's kind |
/// | `entity` | all | the reference to the entity, as commands take it |
/// | an attribute's name | all | the entity's value after the tick, or at its death |
/// | `attribute` | changes | the name of the attribute that changed |
/// | `old`, `new` | changes | its values, where they are numbers |
/// | `old_symbol`, `new_symbol` | changes | its values, where they are symbols |
/// | `command` | changes | the name of the first command with an update of it |
/// | `by` | changes | the reference to the entity that gave this command |
/// | `pick.item`, … | notifications | their fields, prefixed by the notification's name |
///
/// The entity is the one that changed, or the notification's source. It has the
/// attributes of its kind. A bool is 0 or 1, a reference a whole number (-1: no entity),
/// a symbol its text, a text the number of its handle (0: empty). Hidden attributes have no name. Of a number of 64 bits, changes
/// are no events.
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
    pub by: NameId,
    /// By column; `None` for hidden attributes.
    pub columns: Vec<Option<NameId>>,
    /// By index in [`Schema::notifications`], then by field.
    pub fields: Vec<Vec<NameId>>,
    /// Unnamed: the client that the notification is for, where it is for only one.
    pub client: NameId,
    /// Unnamed: cells of attributes.
    pub cells: Vec<Cells>,
}

/// Names for the cells in which an attribute's value lies: the raw value, shifted right by
/// each of [`CELL_SHIFTS`]. A constraint on a range within one cell implies that the cell
/// is equal, which a matcher can look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    pub column: usize,
    pub names: [NameId; CELL_SHIFTS.len()],
}

/// Cells of 4 raw units to 16 million.
pub const CELL_SHIFTS: [u32; 12] = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24];
impl WorldNames {
    /// Declares all names of a world. Fails where an attribute's name is not one that
    /// predicates can use, or is one of the names above.
    pub fn new(schema: &Schema) -> Result<WorldNames, NameError> {
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
        let by = declare("by", ValueType::Integer)?;
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
                _ if attribute.ty == AttributeType::High => None,
                _ => Some(declare(&attribute.name, value_type(attribute.ty))?),
            });
        }
        let cells = cells(schema, &columns, &mut vocabulary)?;
        let notifications = schema.notifications.iter().map(|n| n.name.as_str());
        vocabulary.allow(event, std::iter::once("change").chain(notifications));
        vocabulary.allow(kind, schema.kinds.iter().map(|kind| kind.name.as_str()));
        let commands = schema.commands.iter();
        vocabulary.allow(command, commands.map(|command| command.name.as_str()));
        let known = schema.attributes.iter();
        let known = known
            .filter(|attribute| attribute.audience != Audience::Hidden && !attribute.ty.is_half());
        vocabulary.allow(attribute, known.map(|attribute| attribute.name.as_str()));
        Ok(WorldNames {
            vocabulary,
            event,
            kind,
            entity,
            attribute,
            old,
            new,
            old_symbol,
            new_symbol,
            command,
            by,
            columns,
            fields,
            client,
            cells,
        })
    }
}

/// Declares the cells of the first [`CELLED_MAX`] numeric attributes that have a name.
fn cells(
    schema: &Schema,
    columns: &[Option<NameId>],
    vocabulary: &mut Vocabulary,
) -> Result<Vec<Cells>, NameError> {
    let mut cells = vec![];
    for (column, attribute) in schema.attributes.iter().enumerate() {
        let is_celled = attribute.ty.is_number() && !attribute.ty.is_half();
        if !is_celled || columns[column].is_none() || cells.len() == CELLED_MAX {
            continue;
        }
        let mut names = [NameId(0); CELL_SHIFTS.len()];
        for name in &mut names {
            *name = vocabulary.declare_unnamed(ValueType::Integer)?;
        }
        cells.push(Cells { column, names });
    }
    Ok(cells)
}

/// The type as which predicates compare an attribute's values.
fn value_type(ty: AttributeType) -> ValueType {
    match ty {
        AttributeType::I32
        | AttributeType::Bool
        | AttributeType::Entity
        | AttributeType::Text
        | AttributeType::I64
        | AttributeType::High => ValueType::Integer,
        AttributeType::Fixed => ValueType::Float,
        AttributeType::Symbol => ValueType::String,
    }
}

/// The most attributes with cells. It keeps the names of a notification below the limit of
/// the matchers.
const CELLED_MAX: usize = 8;
