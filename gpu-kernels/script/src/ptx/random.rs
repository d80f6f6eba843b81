//! Random numbers: the hash of `shared::world::mix`, as [`Random`](crate::arith::Random)
//! draws them.

use super::layout::Layout;
use super::memory::TICK;
use super::text::{Flag, Long, Text, Value, Word};
use crate::arith::RANDOM_STEP;

/// What a run's random numbers follow from.
pub struct Random {
    key: Long,
    drawn: Word,
}

impl Random {
    /// The random numbers of a command of this kind.
    pub fn new(
        text: &mut Text,
        layout: &Layout,
        kind: u16,
        [slot, generation, sequence]: [Word; 3],
    ) -> Random {
        let tick = layout.tick.number;
        let tick: Long = text.set("ld.param.u64", format_args!("[{TICK}+{tick}]"));
        let seed: Long = text.set("mov.b64", format_args!("{}", layout.numbers.seed));
        let entity: Long = text.set("mov.b64", format_args!("{{{slot}, {generation}}}"));
        let order = mix(text, seed, tick);
        let order = mix(text, order, entity);
        let other: Long = text.set("not.b64", format_args!("{order}"));
        let kind: Word = text.set("mov.b32", format_args!("{kind}"));
        let own: Long = text.set("mov.b64", format_args!("{{{sequence}, {kind}}}"));
        Random {
            key: mix(text, other, own),
            drawn: text.set("mov.b32", format_args!("0")),
        }
    }

    /// Sets a register to a number from `low` to `high`; to `low` if there is none.
    pub fn within(&self, text: &mut Text, to: Word, low: Value, high: Value) {
        let drawn: Long = text.set("cvt.u64.u32", format_args!("{}", self.drawn));
        let key = self.key;
        let step = format_args!("{drawn}, {RANDOM_STEP:#x}, {key}").to_string();
        let seed: Long = text.set("mad.lo.u64", format_args!("{step}"));
        let bits = mix(text, seed, seed);
        let bits: Long = text.set("shr.u64", format_args!("{bits}, 32"));
        text.put("add.u32", self.drawn, format_args!("{}, 1", self.drawn));
        let is_range: Flag = text.set("setp.gt.s32", format_args!("{high}, {low}"));
        let steps: Word = text.set("sub.s32", format_args!("{high}, {low}"));
        // (steps + 1) × bits, since steps + 1 may be 2^32.
        let narrow: Word = text.set("cvt.u32.u64", format_args!("{bits}"));
        let product: Long = text.set("mad.wide.u32", format_args!("{narrow}, {steps}, {bits}"));
        let high_half: Long = text.set("shr.u64", format_args!("{product}, 32"));
        let above: Word = text.set("cvt.u32.u64", format_args!("{high_half}"));
        let value: Word = text.set("add.s32", format_args!("{above}, {low}"));
        text.put("selp.b32", to, format_args!("{value}, {low}, {is_range}"));
    }
}

fn mix(text: &mut Text, a: Long, b: Long) -> Long {
    let a: Long = text.set("xor.b64", format_args!("{a}, 0xa0761d6478bd642f"));
    let b: Long = text.set("xor.b64", format_args!("{b}, 0xe7037ed1a0b428db"));
    let low: Long = text.set("mul.lo.u64", format_args!("{a}, {b}"));
    let high: Long = text.set("mul.hi.u64", format_args!("{a}, {b}"));
    text.set("xor.b64", format_args!("{low}, {high}"))
}
