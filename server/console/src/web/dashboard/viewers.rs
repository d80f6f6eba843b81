//! Open dashboards: limits of their number and their requests, and the areas that they show.
//! Without a clock.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use platform::metrics::web::WebRefusal;
use platform::rate_limit::RateLimit;

use super::survey::Area;

/// The dashboards that are open.
#[derive(Debug, Default)]
pub struct Viewers {
    viewers: BTreeMap<Viewer, Looking>,
}

/// A number that a dashboard has drawn for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Viewer(pub u64);

#[derive(Debug)]
struct Looking {
    last: Instant,
    requests: RateLimit<Instant>,
    /// When it last requested the map.
    map: Option<Instant>,
    area: Option<Area>,
}

impl Viewers {
    /// Counts a request of a dashboard.
    pub fn come(&mut self, viewer: Viewer, now: Instant) -> Result<(), WebRefusal> {
        self.forget(now);
        let is_new = !self.viewers.contains_key(&viewer);
        if is_new && self.viewers.len() >= VIEWERS_MAX {
            return Err(WebRefusal::Viewers);
        }
        let looking = self.viewers.entry(viewer).or_insert(Looking {
            last: now,
            requests: RateLimit::new(now),
            map: None,
            area: None,
        });
        looking.last = now;
        let at_once = ASK_INTERVAL * ASKS_AT_ONCE;
        match looking.requests.take(ASK_INTERVAL, now, at_once) {
            true => Ok(()),
            false => Err(WebRefusal::Often),
        }
    }

    /// Notes a request for the map, and for the entities of an area if it names one.
    pub fn want_map(&mut self, viewer: Viewer, area: Option<Area>, now: Instant) {
        if let Some(looking) = self.viewers.get_mut(&viewer) {
            (looking.map, looking.area) = (Some(now), area);
        }
    }

    /// The dashboards that show the map, each with its area.
    pub fn of_map(&mut self, now: Instant) -> Vec<(Viewer, Option<Area>)> {
        self.forget(now);
        let wants = |looking: &Looking| {
            let since = looking.map.map(|map| now.saturating_duration_since(map));
            since.is_some_and(|since| since < MAP_PATIENCE)
        };
        let viewers = self.viewers.iter();
        let wanting = viewers.filter(|(_, looking)| wants(looking));
        wanting
            .map(|(viewer, looking)| (*viewer, looking.area))
            .collect()
    }

    pub fn count(&mut self, now: Instant) -> usize {
        self.forget(now);
        self.viewers.len()
    }

    fn forget(&mut self, now: Instant) {
        let is_there = |looking: &Looking| now.saturating_duration_since(looking.last) < IDLE;
        self.viewers.retain(|_, looking| is_there(looking));
    }
}

/// Dashboards at a time.
pub const VIEWERS_MAX: usize = 16;
/// A dashboard without requests for this long is closed.
const IDLE: Duration = Duration::from_secs(10);
/// The world is not surveyed any more for dashboards without requests for this long.
const MAP_PATIENCE: Duration = Duration::from_secs(3);
/// The requests of a dashboard at once, and then the interval from one to the next.
const ASKS_AT_ONCE: u32 = 40;
const ASK_INTERVAL: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_dashboards_are_open_and_idle_ones_make_room() {
        let (mut viewers, mut now) = (Viewers::default(), Instant::now());
        for number in 0..VIEWERS_MAX as u64 {
            assert_eq!(viewers.come(Viewer(number), now), Ok(()));
        }
        assert_eq!(viewers.come(Viewer(99), now), Err(WebRefusal::Viewers));
        now += IDLE / 2;
        assert_eq!(viewers.come(Viewer(0), now), Ok(()));
        now += IDLE / 2;
        assert_eq!(viewers.come(Viewer(99), now), Ok(()));
        assert_eq!(viewers.count(now), 2);
    }

    #[test]
    fn a_dashboard_asks_so_often_at_once_and_then_at_a_pace() {
        let (mut viewers, mut now) = (Viewers::default(), Instant::now());
        let mut ask = |times: u32, now| {
            let asks = (0..times).filter(|_| viewers.come(Viewer(1), now).is_ok());
            asks.count()
        };
        assert_eq!(ask(1000, now), ASKS_AT_ONCE as usize);
        now += ASK_INTERVAL * 3;
        assert_eq!(ask(1000, now), 3);
    }

    #[test]
    fn the_map_is_shown_while_a_dashboard_requests_it() {
        let (mut viewers, mut now) = (Viewers::default(), Instant::now());
        let area = Area {
            centre: [1.0, 2.0],
            edge: 3.0,
        };
        for number in [1, 2] {
            viewers.come(Viewer(number), now).unwrap();
        }
        assert_eq!(viewers.of_map(now), []);
        viewers.want_map(Viewer(2), Some(area), now);
        assert_eq!(viewers.of_map(now), [(Viewer(2), Some(area))]);
        now += MAP_PATIENCE;
        assert_eq!(viewers.of_map(now), []);
    }
}
