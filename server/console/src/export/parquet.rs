//! A Parquet file: a row for each entity, and the attributes as the fields of a group, since
//! they may be called as columns of the engine are.

use std::io::Write;
use std::sync::Arc;

use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::column::writer::ColumnWriterImpl;
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::Result;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::{Type, TypePtr};
use shared::world::attribute::joined;
use shared::world::words::TextHandle;
use shared::{Attribute, AttributeType, AttributeValue, Symbol, WorldConfig};

use super::{Entities, Entity};

/// Writes all entities, in groups of rows.
pub fn write(entities: &Entities<'_>, to: &mut (impl Write + Send)) -> Result<()> {
    let columns = columns(entities.world);
    let schema = schema(entities.world, &columns)?;
    let mut writer = SerializedFileWriter::new(to, schema, Arc::default())?;
    let mut all = entities.iter();
    loop {
        let group: Vec<Entity<'_>> = all.by_ref().take(GROUP_ROWS).collect();
        if group.is_empty() {
            break;
        }
        let mut rows = writer.next_row_group()?;
        for column in &columns {
            if let Some(mut cells) = rows.next_column()? {
                column.write(entities, &group, &mut cells)?;
                cells.close()?;
            }
        }
        rows.close()?;
    }
    writer.close()?;
    Ok(())
}

/// The cells of a column.
#[derive(Clone, Copy)]
enum Column {
    Tick,
    Slot,
    Generation,
    Reference,
    Kind,
    Account,
    Name,
    Attribute(usize, AttributeType),
}

const OF_ENGINE: [(&str, Column); 7] = [
    ("tick", Column::Tick),
    ("slot", Column::Slot),
    ("generation", Column::Generation),
    ("reference", Column::Reference),
    ("kind", Column::Kind),
    ("account", Column::Account),
    ("name", Column::Name),
];

/// All columns in the order of the file.
fn columns(world: &WorldConfig) -> Vec<Column> {
    let own = attributes(world);
    let own = own.map(|(place, attribute)| Column::Attribute(place, attribute.ty));
    OF_ENGINE
        .map(|(_, column)| column)
        .into_iter()
        .chain(own)
        .collect()
}

/// The attributes by column, without the high halves of numbers.
fn attributes(world: &WorldConfig) -> impl Iterator<Item = (usize, &Attribute)> {
    let own = world.schema.attributes.iter().enumerate();
    own.filter(|(_, attribute)| attribute.ty != AttributeType::High)
}

fn schema(world: &WorldConfig, columns: &[Column]) -> Result<TypePtr> {
    let (engine, own) = columns.split_at(OF_ENGINE.len());
    let attributes = own.iter().zip(attributes(world));
    let attributes = attributes.map(|(column, (_, Attribute { name, .. }))| column.field(name));
    let attributes = Type::group_type_builder("attributes")
        .with_repetition(Repetition::REQUIRED)
        .with_fields(attributes.collect::<Result<_>>()?)
        .build()?;
    let fields = engine.iter().zip(OF_ENGINE);
    let mut fields: Vec<TypePtr> = fields
        .map(|(column, (name, _))| column.field(name))
        .collect::<Result<_>>()?;
    fields.push(Arc::new(attributes));
    let schema = Type::group_type_builder("entities").with_fields(fields);
    Ok(Arc::new(schema.build()?))
}

impl Column {
    /// Fields may be absent: kinds lack attributes, and most entities have no account.
    fn field(self, name: &str) -> Result<TypePtr> {
        let physical = self.physical();
        let is_text = physical == Physical::BYTE_ARRAY;
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(is_text.then_some(LogicalType::String));
        Ok(Arc::new(field.build()?))
    }

    fn physical(self) -> Physical {
        match self {
            Column::Kind | Column::Account | Column::Name => Physical::BYTE_ARRAY,
            Column::Attribute(_, AttributeType::Symbol | AttributeType::Text) => {
                Physical::BYTE_ARRAY
            }
            Column::Attribute(_, AttributeType::Fixed) => Physical::DOUBLE,
            Column::Attribute(_, AttributeType::Bool) => Physical::BOOLEAN,
            Column::Attribute(
                _,
                AttributeType::I32
                | AttributeType::Entity
                | AttributeType::I64
                | AttributeType::High,
            ) => Physical::INT64,
            Column::Tick | Column::Slot | Column::Generation | Column::Reference => Physical::INT64,
        }
    }

    fn write(
        self,
        entities: &Entities<'_>,
        group: &[Entity<'_>],
        cells: &mut SerializedColumnWriter<'_>,
    ) -> Result<()> {
        let own = |entity: &Entity<'_>| match self {
            Column::Attribute(place, ty) => Some(AttributeValue::of(ty, entity.words(place)?)),
            _ => None,
        };
        match self.physical() {
            Physical::BYTE_ARRAY => {
                let text = |entity| self.text(entities, entity).map(ByteArray::from);
                put::<ByteArrayType>(cells.typed(), group.iter().map(text))
            }
            Physical::DOUBLE => {
                let number = |entity| Some(own(entity)?.number());
                put::<DoubleType>(cells.typed(), group.iter().map(number))
            }
            Physical::BOOLEAN => {
                let truth = |entity| Some(own(entity)?.raw() != 0);
                put::<BoolType>(cells.typed(), group.iter().map(truth))
            }
            _ => {
                let number = |entity| self.number(entities.tick, entity);
                put::<Int64Type>(cells.typed(), group.iter().map(number))
            }
        }
    }

    fn number(self, tick: u64, entity: &Entity<'_>) -> Option<i64> {
        match self {
            Column::Tick => i64::try_from(tick).ok(),
            Column::Slot => Some(entity.id.slot.0.into()),
            Column::Generation => Some(entity.id.generation.into()),
            Column::Reference => Some(entity.id.reference().0.into()),
            Column::Attribute(place, AttributeType::I64) => Some(joined(entity.words(place)?)),
            Column::Attribute(place, _) => Some(entity.value(place)?.into()),
            Column::Kind | Column::Account | Column::Name => None,
        }
    }

    fn text<'a>(self, entities: &'a Entities<'_>, entity: &'a Entity<'_>) -> Option<&'a str> {
        match self {
            Column::Kind => Some(&entity.kind.name),
            Column::Account => entity.person?.account.as_deref(),
            Column::Name => entity.person?.name.as_deref(),
            Column::Attribute(place, AttributeType::Text) => {
                entities.text(TextHandle(entity.value(place)?))
            }
            Column::Attribute(place, _) => {
                Symbol(entity.value(place)?).name(&entities.world.schema.symbols)
            }
            _ => None,
        }
    }
}

/// Writes the cells of a column, of which some may be absent.
fn put<T: DataType>(
    cells: &mut ColumnWriterImpl<'_, T>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let values: Vec<Option<T::T>> = values.collect();
    let levels: Vec<i16> = values.iter().map(|value| value.is_some().into()).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    cells.write_batch(&values, Some(&levels), None)?;
    Ok(())
}

/// So that a file of many entities is read in parts.
const GROUP_ROWS: usize = 65_536;
