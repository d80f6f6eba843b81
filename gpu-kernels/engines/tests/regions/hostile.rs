//! Wrong input is refused by name, and changes nothing.

use engines::regions::{
    Batch, BatchError, Bounds, BoundsError, CpuRegions, Dimension, Pair, Region, RegionsConfig,
    RegionsStartError, Side, Space, SpaceError, StepError,
};

use crate::regions::engines::engines;

fn space() -> Space {
    let x = Dimension::new("x", 0, 100);
    Space::new(vec![x, Dimension::new("y", -50, 50)]).unwrap()
}

fn square(at: i32) -> Bounds {
    Bounds {
        low: [at, 0, 0],
        high: [at + 10, 10, 0],
    }
}

#[test]
fn spaces_have_one_to_three_dimensions_with_names_and_ranges() {
    assert_eq!(Space::new(vec![]), Err(SpaceError::Dimensions(0)));
    let x = Dimension::new("x", 0, 1);
    assert_eq!(
        Space::new(vec![x.clone(); 4]),
        Err(SpaceError::Dimensions(4))
    );
    let twice = Space::new(vec![x.clone(), x]);
    assert_eq!(twice, Err(SpaceError::NamedTwice("x".into())));
    let empty = Space::new(vec![Dimension::new("t", 5, 5)]).unwrap_err();
    assert_eq!(
        empty.to_string(),
        "dimension \"t\" must run from a lower to a higher number, not 5..5"
    );
}

#[test]
fn boxes_are_checked_against_their_space() {
    let space = space();
    let no = |ranges: &[(&str, i32, i32)]| space.bounds(ranges).unwrap_err();
    assert_eq!(no(&[("w", 0, 1)]), BoundsError::NoDimension("w".into()));
    let twice = no(&[("x", 0, 1), ("x", 1, 2)]);
    assert_eq!(twice, BoundsError::GivenTwice("x".into()));
    assert_eq!(
        no(&[("x", 7, 7)]).to_string(),
        "7..7 on dimension \"x\" is empty or inverted"
    );
    assert_eq!(
        no(&[("y", -51, 0)]).to_string(),
        "-51..0 leaves dimension \"y\", which is -50..50"
    );
}

#[test]
fn a_batch_refuses_boxes_and_numbers_by_region() {
    let config = RegionsConfig::new(space(), 8, 100);
    let mut batch = Batch::new(&config, 2);
    let region = Region::subscription(5);
    let mut inverted = square(20);
    inverted.high[1] = -3;
    assert_eq!(
        batch.add(region, &inverted).unwrap_err().to_string(),
        "subscription 5: 0..-3 on dimension \"y\" is empty or inverted"
    );
    assert_eq!(
        batch.modify(region, &square(91)).unwrap_err().to_string(),
        "subscription 5: 91..101 leaves dimension \"x\", which is 0..100"
    );
    assert_eq!(
        batch
            .remove(Region::publication(8))
            .unwrap_err()
            .to_string(),
        "publication 8: numbers go from 0 to 7"
    );
    assert!(batch.is_empty());
    batch.add(region, &square(0)).unwrap();
    batch.remove(Region::publication(1)).unwrap();
    let full = BatchError::Full {
        region,
        updates_max: 2,
    };
    assert_eq!(batch.add(region, &square(0)), Err(full));
    assert_eq!(batch.len(), 2);
}

#[test]
fn a_refused_batch_changes_nothing() {
    let config = RegionsConfig::new(space(), 8, 2);
    let p = Region::publication;
    let s = Region::subscription;
    for (label, mut engine) in engines(&config) {
        let mut batch = Batch::new(&config, 8);
        batch.add(p(1), &square(0)).unwrap();
        batch.add(s(2), &square(5)).unwrap();
        assert_eq!(
            engine.step(&batch).unwrap().gained,
            [Pair::new(1, 2)],
            "{label}"
        );

        // Each batch begins with updates that would be applied.
        let mut refused = |fill: &dyn Fn(&mut Batch), error: StepError| {
            batch.clear();
            batch.modify(s(2), &square(50)).unwrap();
            batch.add(s(3), &square(0)).unwrap();
            fill(&mut batch);
            assert_eq!(engine.step(&batch).unwrap_err(), error, "{label}");
            let overlaps = engine.overlaps(Side::Publication).unwrap();
            assert_eq!(overlaps.pairs(), 1, "{label}");
            assert_eq!(overlaps.of(1), [2], "{label}");
        };
        refused(
            &|b| b.add(p(1), &square(0)).unwrap(),
            StepError::AlreadyThere(p(1)),
        );
        refused(
            &|b| b.modify(p(7), &square(0)).unwrap(),
            StepError::Unknown(p(7)),
        );
        refused(&|b| b.remove(s(4)).unwrap(), StepError::Unknown(s(4)));
        refused(&|b| b.remove(s(2)).unwrap(), StepError::NamedTwice(s(2)));
        refused(
            &|b| b.modify(s(3), &square(1)).unwrap(),
            StepError::NamedTwice(s(3)),
        );
        // The first of two wrong updates is named.
        refused(
            &|b| {
                b.remove(p(6)).unwrap();
                b.add(p(1), &square(0)).unwrap();
            },
            StepError::Unknown(p(6)),
        );
        // p1 gains s3, s4 and s5, and loses s2.
        refused(
            &|b| {
                b.add(s(4), &square(0)).unwrap();
                b.add(s(5), &square(0)).unwrap();
            },
            StepError::TooManyPairs { needed: 4, max: 2 },
        );

        let other = RegionsConfig::new(space(), 9, 2);
        let error = engine.step(&Batch::new(&other, 1)).unwrap_err();
        assert_eq!(error, StepError::OtherSpace, "{label}");

        batch.clear();
        batch.remove(p(1)).unwrap();
        let changes = engine.step(&batch).unwrap();
        assert_eq!(changes.lost, [Pair::new(1, 2)], "{label}");
        assert_eq!(changes.metrics.regions, [0, 1], "{label}");
    }
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let start = |config: &RegionsConfig| CpuRegions::new(config, 1).map(|_| ()).unwrap_err();
    let none = start(&RegionsConfig::new(space(), 0, 1));
    assert!(matches!(none, RegionsStartError::Capacity(0)), "{none}");
    let many = start(&RegionsConfig::new(space(), Region::NUMBERS + 1, 1));
    assert!(matches!(many, RegionsStartError::Capacity(_)), "{many}");
    let pairs = start(&RegionsConfig::new(space(), 1, 0));
    assert!(matches!(pairs, RegionsStartError::PairsMax(0)), "{pairs}");
    let mut config = RegionsConfig::new(space(), 1, 1);
    config.cell_edge = Some(0);
    let edge = start(&config);
    assert!(matches!(edge, RegionsStartError::CellEdge), "{edge}");
}
