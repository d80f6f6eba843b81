//! The functions that scripts have without declaring them.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// What the built-in function of this name is called with, if there is one.
pub fn form_of(name: &str) -> Option<&'static str> {
    static FORMS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| BUILTINS.into());
    FORMS.get(name).copied()
}

/// Whether a script's own function of this name is meant, where it has one: the built-in function is
/// younger than the scripts of some worlds, and no world stops compiling as there are more.
pub fn yields(name: &str) -> bool {
    static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| YIELDING.into());
    NAMES.contains(name)
}

/// The built-in functions and what each is called with.
pub const BUILTINS: [(&str, &str); 59] = [
    ("require", "require(condition, \"reason\")"),
    ("require_fits", "require_fits(entity.attribute += number)"),
    ("exists", "exists(entity)"),
    ("resolve", "resolve(number)"),
    ("is_within", "is_within(place, place, distance)"),
    ("was_within", "was_within(entity, distance, tick)"),
    ("distance", "distance(place, place)"),
    ("near", "near(place, radius, \"kind\")"),
    ("count_near", "count_near(place, radius, \"kind\")"),
    ("nearest", "nearest(place, radius, \"kind\")"),
    ("count", "count(\"kind\")"),
    ("the", "the(\"kind\")"),
    ("all", "all(\"kind\")"),
    ("held_by", "held_by(entity, \"kind\")"),
    ("count_held", "count_held(entity, \"kind\")"),
    ("members", "members(group, \"attribute\")"),
    ("count_members", "count_members(group, \"attribute\")"),
    ("rank", "rank(entity, \"ranking\")"),
    ("top", "top(\"ranking\", number)"),
    ("random", "random(low, high)"),
    ("random_offset", "random_offset(distance)"),
    ("min", "min(a, b)"),
    ("max", "max(a, b)"),
    ("abs", "abs(number)"),
    ("clamp", "clamp(number, low, high)"),
    ("sqrt", "sqrt(number)"),
    ("sine", "sine(degrees)"),
    ("cosine", "cosine(degrees)"),
    ("angle", "angle(place, place)"),
    ("turn", "turn(offset, degrees)"),
    ("point", "point(x, y)"),
    ("inside", "inside(point)"),
    ("is_blocked", "is_blocked(place)"),
    ("height", "height(place)"),
    ("tag", "tag(place)"),
    ("set_blocked", "set_blocked(place, condition)"),
    ("set_height", "set_height(place, number)"),
    ("set_tag", "set_tag(place, \"tag\")"),
    ("clear_tag", "clear_tag(place)"),
    ("sees", "sees(place, place)"),
    ("slide", "slide(place, offset)"),
    ("first_hit", "first_hit(place, place, distance)"),
    ("approach", "approach(place, place, distance, cells)"),
    ("toward", "toward(place, \"field\", distance)"),
    ("plane", "plane(place)"),
    ("local", "local(place)"),
    ("in_plane", "in_plane(number, point)"),
    ("first_plane", "first_plane(\"plane\")"),
    ("copies", "copies(\"plane\")"),
    ("tick", "tick()"),
    ("has", "has(entity.attribute)"),
    ("after", "after(ticks, command(…))"),
    ("cancel", "cancel(entity.attribute)"),
    (
        "spawn",
        "spawn(\"kind\", point)` or `spawn(Kind { … }, point)",
    ),
    ("despawn", "despawn(entity)"),
    ("tell", "tell(Name { … }, around(point, distance))"),
    ("around", "around(point, distance)"),
    ("towards", "towards(point, point, distance)"),
    ("log", "log(\"text\", value, …)"),
];

/// Built-in functions that are younger than the scripts of some worlds.
const YIELDING: [&str; 31] = [
    "sine",
    "cosine",
    "angle",
    "turn",
    "is_blocked",
    "height",
    "tag",
    "set_blocked",
    "set_height",
    "set_tag",
    "clear_tag",
    "sees",
    "slide",
    "first_hit",
    "approach",
    "toward",
    "count",
    "the",
    "all",
    "held_by",
    "count_held",
    "members",
    "count_members",
    "rank",
    "top",
    "cancel",
    "plane",
    "local",
    "in_plane",
    "first_plane",
    "copies",
];
