//! The notifications that reach each client by place.

use gpu_kernels::{Area, Notification};
use shared::InterestMode;

use super::{Oracle, OracleOutput};

impl Oracle {
    /// Finds each client's hearings, in order, up to the client's limit.
    pub(super) fn find_hearings(&self, out: &mut OracleOutput) {
        let most = self.config.limits.client_hearings_per_tick as usize;
        for client in 0..self.config.limits.clients {
            let mut hearings = vec![];
            for (number, notification) in (0..).zip(&out.notifications) {
                if self.reaches(client, notification) {
                    hearings.push(number);
                }
            }
            out.counts.hearings_dropped += hearings.len().saturating_sub(most) as u64;
            hearings.truncate(most);
            out.counts.hearings += hearings.len() as u64;
            if !hearings.is_empty() {
                out.hearings.insert(client, hearings);
            }
        }
    }

    fn reaches(&self, client: u32, notification: &Notification) -> bool {
        let Some(Area { low, high }) = notification.area() else {
            return false;
        };
        let source = notification.source;
        if self.is_alive(source) && self.is_hidden_from(client, source.slot.0) {
            return false;
        }
        let perceived = self.viewpoints(client).into_iter().any(|viewpoint| {
            let center = viewpoint.center;
            // The point of the area that is nearest to the observer.
            let nearest = [0, 1, 2].map(|axis| center[axis].min(high[axis] - 1).max(low[axis]));
            match self.config.interest {
                InterestMode::Exact => {
                    let radius = u128::from(viewpoint.radius.unsigned_abs());
                    super::interest::square_of_distance(center, nearest) <= radius * radius
                }
                // A point of the area is in the observer's bucket or a neighbouring one.
                InterestMode::Buckets => (0..3).all(|axis| {
                    let edge = i64::from(self.config.schema.world.aoi.raw());
                    let own = i64::from(center[axis]) / edge;
                    let first = (own - 1).max(0) * edge;
                    let buckets = (i64::from(self.size(axis)) - 1) / edge + 1;
                    let end = (own + 2).min(buckets) * edge;
                    i64::from(low[axis]) < end && i64::from(high[axis]) > first
                }),
            }
        });
        let corners = [0, 1, 2].map(|axis| [low[axis].into(), high[axis].into()]);
        let subscriptions = self.subscriptions(client);
        perceived
            || subscriptions
                .iter()
                .any(|own| super::regions::overlap(own, &corners))
    }
}
