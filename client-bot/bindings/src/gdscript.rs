use crate::names::Collision;
use crate::world::World;

pub fn generate(_: &World) -> Result<String, Collision> {
    Ok(String::new())
}
