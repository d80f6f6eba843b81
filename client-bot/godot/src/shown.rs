//! Scenes that stand for entities in view.

use std::collections::HashMap;

use client_bot::GameClient;
use godot::classes::{Node, Node2D, Node3D, PackedScene};
use godot::prelude::*;
use shared::EntityId;

use crate::convert::number;

/// Which node stands for which entity.
#[derive(Default)]
pub struct Shown {
    nodes: HashMap<EntityId, Gd<Node>>,
}

impl Shown {
    /// Moves the nodes to where their entities are shown, and gives those of entities that are
    /// new in view: they are in no tree yet.
    pub fn follow(&mut self, client: &GameClient, scene: &Gd<PackedScene>) -> Vec<Gd<Node>> {
        let mut new = vec![];
        let seen = client
            .view()
            .into_iter()
            .flat_map(|v| v.entities().values());
        for entity in seen.map(|seen| seen.id) {
            let Some(place) = client.position(entity) else {
                continue;
            };
            if let Some(node) = self.node(entity) {
                put(node, place);
            } else if let Some(mut node) = scene.instantiate() {
                node.set_meta("entity", &number(entity).to_variant());
                put(node.clone(), place);
                self.nodes.insert(entity, node.clone());
                new.push(node);
            }
        }
        new
    }

    /// Frees the nodes of entities that are no longer in view.
    pub fn free_others(&mut self, client: &GameClient) {
        self.nodes.retain(|entity, node| {
            let seen = client.view().and_then(|v| v.get(entity.slot));
            let is_seen = seen.is_some_and(|seen| seen.id == *entity);
            if !is_seen && node.is_instance_valid() {
                node.queue_free();
            }
            is_seen
        });
    }

    /// The node that stands for an entity, unless the game has freed it.
    pub fn node(&self, entity: EntityId) -> Option<Gd<Node>> {
        let node = self.nodes.get(&entity)?;
        node.is_instance_valid().then(|| node.clone())
    }
}

fn put(node: Gd<Node>, place: [f64; 3]) {
    match node.try_cast::<Node3D>() {
        Ok(mut node) => node.set_position(to_space(place)),
        Err(node) => {
            if let Ok(mut node) = node.try_cast::<Node2D>() {
                node.set_position(Vector2::new(place[0] as f32, place[1] as f32));
            }
        }
    }
}

/// A place in Godot's space. There, y is up: a world's third axis.
pub fn to_space([x, y, z]: [f64; 3]) -> Vector3 {
    Vector3::new(x as f32, z as f32, y as f32)
}

/// A place of the world.
pub fn from_space(place: Vector3) -> [f64; 3] {
    [place.x, place.z, place.y].map(f64::from)
}
