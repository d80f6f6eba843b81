//- items that scripts lack
use std::fmt;
static A: i32 = 1;
enum Mood { Happy }
impl Mood {}
mod inner {}
type Number = i32;
trait Hug {}
macro_rules! hug { () => {} }
const fn qualified() {}
fn generic<T>(x: T) {}
//- attributes without meaning
#[derive(Clone)]
struct Hugged { by: Entity }
#[inline]
fn helper() {}
#[clamp(0, 1)]
const A: i32 = 1;
#[command]
#[command(clients)]
fn twice(me: Entity) {}
#[command(players)]
fn unknown(me: Entity) {}
#[command = "clients"]
fn value(me: Entity) {}
//- an attribute inside of a function
#[command(clients)]
fn hug(me: Entity) {
    #[cfg(test)]
    me.gold += 1;
}
//- an attribute of the whole text
#![no_std]
//- parameters and results
fn tuple((a, b): i32) {}
fn receiver(self) {}
fn reference(a: &i32) {}
fn float(a: f32) {}
fn generic(a: Vec<i32>) {}
#[command(clients)]
fn result(me: Entity) -> i32 { 1 }
//- parameters and senders
#[command(clients)]
fn double(me: Entity, a: i32, a: i32) {}
fn double_too(a: i32, a: i32) {}
#[command(clients)]
fn actor_type(me: i32) {}
#[command(clients)]
fn actor_place(a: i32, me: Entity) {}
#[command(clients)]
fn no_actor(other: Entity) {}
#[command(rules)]
fn no_actor_either(n: i32) {}
#[command(rules)]
fn rule_target(me: Entity, other: Entity) {}
#[command(clients)]
fn many(me: Entity, a: Point, b: Point, c: Point) {}
//- notifications
struct Pair(i32, i32);
struct Typed { a: String }
struct Generic<T> { a: i32 }
//- notifications that can't be sent
struct Long { a: Point, b: Point, c: Point, d: Point, e: i32 }
struct Twice { a: i32, a: i32 }
struct Fall { a: i32 }
//- names that are taken
const A: i32 = 1;
const A: i32 = 2;
fn helper() {}
fn helper() {}
#[command]
fn strike(me: Entity) {}
#[command]
fn strike(me: Entity) {}
struct Hug { a: i32 }
struct Hug { a: i32 }
struct hug { b: i32 }
fn min() {}
const none: Entity = resolve(1);
#[command]
fn spawn(me: Entity) {}
//- constants
const A: i32 = B;
const B: i32 = C + 1;
const C: i32 = A;
const D: i32 = tick();
const E: i32 = { tell(Hug {}); 1 };
const F: i32 = 1.5;
const G: i32 = 2147483648;
#[range(0, 10)]
const H: i32 = 11;
#[range(0.0, 1)]
const I: Fixed = 1.5;
#[range(10, 0)]
const K: i32 = 5;
#[range(0, tick())]
const L: i32 = 5;
#[range(0, 1)]
const M: bool = true;
//- ranges
#[range(0)]
const J: i32 = 1;
#[range]
const N: i32 = 1;
#[range(0, 1, 2)]
const O: i32 = 1;
#[range(0, 1 2)]
const P: i32 = 1;
