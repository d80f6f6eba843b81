//! The numbers of the built-in commands in a world: what its file sets, or their defaults.

use shared::world::logic::Constant;
use shared::{Fixed, WorldConfig};

/// The constants of the built-in texts, as the oracle has them.
#[derive(Clone, Debug)]
pub struct Rules {
    pub move_speed_max: Fixed,
    pub strike_reach: Fixed,
    pub strike_damage: i32,
    pub heal_reach: Fixed,
    pub heal_amount: i32,
    pub blast_reach: Fixed,
    pub blast_radius: Fixed,
    pub blast_damage: i32,
    pub blast_ember_ticks: i32,
    pub blast_ember_damage: i32,
    pub blast_sound: Fixed,
    pub pick_reach: Fixed,
    pub roam_step: Fixed,
    pub shout_radius_max: Fixed,
}

impl Rules {
    /// The numbers of a world.
    pub fn of(config: &WorldConfig) -> Rules {
        let number = |text: &str, constant: &str, default: f64| {
            let settings = config.logic.constants.get(text);
            match settings.and_then(|settings| settings.get(constant)) {
                Some(Constant::Int(whole)) => *whole as f64,
                Some(Constant::Float(number)) => *number,
                _ => default,
            }
        };
        let fixed = |text, constant, default| {
            Fixed::from_f64(number(text, constant, default)).expect("a checked world")
        };
        let whole = |text, constant, default| number(text, constant, default) as i32;
        Rules {
            move_speed_max: fixed("move", "speed_max", 2.0),
            strike_reach: fixed("strike", "reach", 10.0),
            strike_damage: whole("strike", "damage", 5.0),
            heal_reach: fixed("heal", "reach", 10.0),
            heal_amount: whole("heal", "amount", 4.0),
            blast_reach: fixed("blast", "reach", 30.0),
            blast_radius: fixed("blast", "radius", 8.0),
            blast_damage: whole("blast", "damage", 3.0),
            blast_ember_ticks: whole("blast", "ember_ticks", 0.0),
            blast_ember_damage: whole("blast", "ember_damage", 1.0),
            blast_sound: fixed("blast", "sound", 0.0),
            pick_reach: fixed("pick", "reach", 5.0),
            roam_step: fixed("roam", "step", 1.0),
            shout_radius_max: fixed("shout", "radius_max", 0.0),
        }
    }
}
