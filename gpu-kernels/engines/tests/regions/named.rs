//! Named cases: the paper's figures, and boxes that are easily got wrong.

use engines::regions::{Batch, Bounds, Dimension, Pair, Region, RegionsConfig, Side, Space};

use crate::regions::engines::engines;
use crate::regions::oracle::{Oracle, Update, fill};

fn plane() -> Space {
    let x = Dimension::new("x", 0, 50);
    Space::new(vec![x, Dimension::new("y", 0, 50)]).unwrap()
}

fn rectangle(x: [i32; 2], y: [i32; 2]) -> Bounds {
    Bounds {
        low: [x[0], y[0], 0],
        high: [x[1], y[1], 0],
    }
}

/// Runs steps on all engines; the pairs after each must be these.
fn check(config: &RegionsConfig, steps: &[(&[Update], &[Pair])]) {
    for (label, mut engine) in engines(config) {
        let mut batch = Batch::new(config, 100);
        let mut oracle = Oracle::default();
        for (i, (updates, pairs)) in steps.iter().enumerate() {
            fill(&mut batch, updates);
            let (gained, lost) = oracle.step(updates);
            let changes = engine.step(&batch).unwrap();
            assert_eq!(changes.gained, gained, "{label}, step {i}");
            assert_eq!(changes.lost, lost, "{label}, step {i}");
            let overlaps = engine.overlaps(Side::Publication).unwrap();
            let all = overlaps.numbers().flat_map(|p| {
                let others = overlaps.of(p).iter();
                others.map(move |&s| Pair::new(p, s))
            });
            assert_eq!(all.collect::<Vec<_>>(), *pairs, "{label}, step {i}");
        }
    }
}

#[test]
fn figure_2_any_number_of_regions_fills_its_blocks() {
    for n in [1, 2, 15, 16, 17, 31, 33] {
        let config = RegionsConfig::new(plane(), 64, 5000);
        let updates: Vec<Update> = (0..n)
            .flat_map(|i| {
                let at = rectangle([i, i + 2], [0, 1]);
                let (p, s) = (
                    Region::publication(i as u32),
                    Region::subscription(i as u32),
                );
                [Update::Add(p, at), Update::Add(s, at)]
            })
            .collect();
        // Each overlaps itself and its neighbours.
        let near = |p: i32| (0..n).filter(move |s| (s - p).abs() <= 1);
        let pairs: Vec<Pair> = (0..n)
            .flat_map(|p| near(p).map(move |s| Pair::new(p as u32, s as u32)))
            .collect();
        check(&config, &[(&updates, &pairs)]);
    }
}

#[test]
fn figures_3_and_4_regions_that_share_a_cell_are_compared() {
    // Five cells of edge 10 in a row, numbered from 1: p2 touches 8, 9, 13 and 14,
    // s1 touches 12, 13, 17 and 18, s2 lies in 14.
    let config = RegionsConfig {
        cell_edge: Some(10),
        ..RegionsConfig::new(plane(), 8, 100)
    };
    let (p1, p2) = (Region::publication(1), Region::publication(2));
    let (s1, s2) = (Region::subscription(1), Region::subscription(2));
    let added = [
        Update::Add(p1, rectangle([2, 8], [32, 38])),
        Update::Add(p2, rectangle([25, 35], [15, 25])),
        Update::Add(s1, rectangle([15, 28], [22, 35])),
        Update::Add(s2, rectangle([32, 38], [21, 24])),
    ];
    // Still in cell 14, and beside p2.
    let moved = [Update::Modify(s2, rectangle([36, 39], [26, 29]))];
    let removed = [
        Update::Remove(p2),
        Update::Modify(s1, rectangle([5, 9], [30, 40])),
    ];
    check(
        &config,
        &[
            (&added, &[Pair::new(2, 1), Pair::new(2, 2)]),
            (&moved, &[Pair::new(2, 1)]),
            (&removed, &[Pair::new(1, 1)]),
        ],
    );
}

#[test]
fn touching_edges_do_not_overlap_and_equal_boxes_do() {
    let config = RegionsConfig::new(plane(), 4, 100);
    let (p, s) = (Region::publication(0), Region::subscription(0));
    let left = rectangle([0, 10], [0, 10]);
    let right = rectangle([10, 20], [0, 10]);
    let corner = rectangle([10, 20], [10, 20]);
    check(
        &config,
        &[
            (&[Update::Add(p, left), Update::Add(s, right)], &[]),
            (&[Update::Modify(s, left)], &[Pair::new(0, 0)]),
            (&[Update::Modify(s, corner)], &[]),
            (&[Update::Modify(p, corner)], &[Pair::new(0, 0)]),
            // Both go together: nothing is gained, nothing lost.
            (
                &[Update::Modify(p, right), Update::Modify(s, right)],
                &[Pair::new(0, 0)],
            ),
        ],
    );
}

#[test]
fn a_dimension_that_is_not_named_is_met_in_its_whole_range() {
    let space = plane();
    let strip = space.bounds(&[("y", 3, 4)]).unwrap();
    assert_eq!(strip, rectangle([0, 50], [3, 4]));
    let config = RegionsConfig::new(space, 4, 100);
    let (p, s) = (Region::publication(3), Region::subscription(3));
    let far = rectangle([49, 50], [3, 4]);
    check(
        &config,
        &[(
            &[Update::Add(p, strip), Update::Add(s, far)],
            &[Pair::new(3, 3)],
        )],
    );
}

#[test]
fn boxes_at_the_ends_of_all_numbers() {
    let all = Dimension::new("x", i32::MIN, i32::MAX);
    let config = RegionsConfig::new(Space::new(vec![all]).unwrap(), 4, 100);
    let line = |low, high| Bounds {
        low: [low, 0, 0],
        high: [high, 0, 0],
    };
    let (p, s) = (Region::publication(0), Region::subscription(0));
    check(
        &config,
        &[
            (
                &[
                    Update::Add(p, line(i32::MIN, i32::MIN + 1)),
                    Update::Add(s, line(i32::MAX - 1, i32::MAX)),
                ],
                &[],
            ),
            (
                &[Update::Modify(p, line(i32::MIN, i32::MAX))],
                &[Pair::new(0, 0)],
            ),
            (
                &[Update::Modify(s, line(i32::MIN, i32::MIN + 1))],
                &[Pair::new(0, 0)],
            ),
            (&[Update::Modify(p, line(i32::MIN + 1, i32::MAX))], &[]),
        ],
    );
}
