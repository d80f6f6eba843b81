//! The functions that scripts have without declaring them.

/// The built-in functions and what each is called with.
pub const BUILTINS: [(&str, &str); 32] = [
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
    ("tick", "tick()"),
    ("has", "has(entity.attribute)"),
    ("after", "after(ticks, command(…))"),
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

/// Built-in functions that are younger than the scripts of some worlds. Where a script has a function
/// of this name, its own is meant: no world stops compiling as there are more.
pub const YIELDING: [&str; 4] = ["sine", "cosine", "angle", "turn"];
