//! Planes: where they are in the space of their world, and what is in which.

use shared::world::mix::mix;
use shared::world::plane::{Atlas, Declared, Rectangle};

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> i32 {
        self.0 = mix(self.0, 7);
        (((self.0 >> 32) * n) >> 32) as i32
    }
}

/// Planes of some sizes, with corners at multiples of a power of two.
fn random(seed: u64) -> (Atlas, i32) {
    let mut dice = Dice(seed);
    let align = 1 << dice.below(6);
    let mut size = || [dice.below(300) + 1, dice.below(300) + 1];
    let world = size();
    let declared = (0..1 + seed % 4).map(|n| Declared {
        name: format!("plane {n}"),
        size: size(),
        copies: 1 + (seed * 7 + n * 13) as u32 % 40,
    });
    let declared = declared.collect();
    let gap = Dice(seed + 1).below(60) + 1;
    let atlas = Atlas::lay_out(world, [gap, gap], declared, align, 1 << 20);
    (atlas.expect("there is room"), align)
}

/// The distance between two rectangles, along the axis where it is longer.
fn apart(a: Rectangle, b: Rectangle) -> i32 {
    let along = |axis: usize| {
        let between = |a: Rectangle, b: Rectangle| b.low[axis] - (a.low[axis] + a.size[axis]);
        between(a, b).max(between(b, a))
    };
    along(0).max(along(1))
}

#[test]
fn planes_are_apart_and_each_place_in_one_is_in_that_one() {
    for seed in 0..200 {
        let (atlas, align) = random(seed);
        let [width, height] = atlas.extent();
        assert_eq!(atlas.check([width, height, 1]), Ok(()), "seed {seed}");
        assert!(atlas.check([width - 1, height, 1]).is_err(), "seed {seed}");
        assert!(atlas.check([width, height - 1, 1]).is_err(), "seed {seed}");
        let all: Vec<Rectangle> = atlas.rectangles().collect();
        assert_eq!(all.len(), atlas.count() as usize);
        for (number, &plane) in (0..).zip(&all) {
            assert!(plane.low.iter().all(|low| low % align == 0), "seed {seed}");
            for &other in &all[..number as usize] {
                assert!(
                    apart(plane, other) >= atlas.gap,
                    "seed {seed}: {plane:?} {other:?}"
                );
            }
            let mut dice = Dice(u64::from(number));
            let last = plane.size.map(|size| size - 1);
            let random = last.map(|last| dice.below(last as u64 + 1));
            for local in [[0, 0], last, random] {
                let place = [0, 1].map(|axis| plane.low[axis] + local[axis]);
                assert_eq!(atlas.plane_of(place), number, "seed {seed}");
                assert_eq!(atlas.local(place), local, "seed {seed}");
                assert_eq!(atlas.place_in(number, local), place, "seed {seed}");
                assert_eq!(atlas.nearest(place), place, "seed {seed}");
            }
        }
    }
}

#[test]
fn a_place_between_planes_counts_as_in_one_of_those_that_are_nearest() {
    for seed in 0..50 {
        let (atlas, _) = random(seed);
        let extent = atlas.extent();
        let mut dice = Dice(seed);
        for _ in 0..300 {
            let place = extent.map(|edge| dice.below(edge as u64 + 100) - 50);
            let plane = atlas.plane_of(place);
            assert!(plane < atlas.count(), "seed {seed}");
            let inside = atlas.nearest(place);
            assert!(atlas.rectangle(plane).contains(inside), "seed {seed}");
            // Half of the gap is on either side: within it, no other plane is as near.
            let away = |rectangle: Rectangle| {
                let near = rectangle.nearest(place);
                (0..2)
                    .map(|axis| (near[axis] - place[axis]).abs())
                    .max()
                    .unwrap_or(0)
            };
            let own = away(atlas.rectangle(plane));
            if own < atlas.gap / 2 {
                let others = atlas.rectangles().filter(|r| *r != atlas.rectangle(plane));
                assert!(
                    others.map(away).all(|other| own <= other),
                    "seed {seed}: {place:?}"
                );
            }
        }
    }
}

#[test]
fn names_lead_to_copies_and_back() {
    let declared = [("cave", 3), ("house", 5)].map(|(name, copies)| Declared {
        name: name.to_owned(),
        size: [10, 20],
        copies,
    });
    let atlas = Atlas::lay_out([100, 100], [5, 5], declared.to_vec(), 1, 1000).expect("room");
    assert_eq!(atlas.count(), 9);
    assert_eq!(
        (atlas.named("cave"), atlas.named("house")),
        (Some((1, 3)), Some((4, 5)))
    );
    assert_eq!(atlas.named("attic"), None);
    let names: Vec<_> = (0..10).map(|plane| atlas.name_of(plane)).collect();
    assert_eq!(names[0], None);
    assert_eq!(
        names[1..4],
        [Some(("cave", 0)), Some(("cave", 1)), Some(("cave", 2))]
    );
    assert_eq!(
        (names[4], names[8], names[9]),
        (Some(("house", 0)), Some(("house", 4)), None)
    );
}

#[test]
fn a_world_without_planes_is_plane_0() {
    let atlas = Atlas::default();
    assert!(atlas.is_empty());
    assert_eq!((atlas.count(), atlas.plane_of([70, -3])), (1, 0));
    assert_eq!(atlas.local([70, -3]), [70, -3]);
    assert_eq!(atlas.check([100, 100, 1]), Ok(()));
}

#[test]
fn planes_that_overlap_or_are_beyond_the_world_are_refused() {
    let (atlas, _) = random(3);
    let [width, height] = atlas.extent();
    let size = [width, height, 1];
    type Change = fn(&mut Atlas);
    let wrong: [Change; 8] = [
        |atlas| atlas.groups[0].low -= atlas.gap + 64,
        |atlas| atlas.groups[0].stride[0] = atlas.groups[0].size[0],
        |atlas| atlas.groups[0].columns = 0,
        |atlas| atlas.groups[0].columns = u32::MAX,
        |atlas| atlas.groups[0].copies = 0,
        |atlas| atlas.groups[0].copies = u32::MAX,
        |atlas| atlas.groups[0].size[1] = i32::MAX,
        |atlas| atlas.gap = i32::MAX,
    ];
    for (number, change) in wrong.into_iter().enumerate() {
        let mut atlas = atlas.clone();
        change(&mut atlas);
        assert!(atlas.check(size).is_err(), "{number}");
    }
}
