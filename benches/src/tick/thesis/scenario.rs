use shared::{InterestMode, WorldConfig};

/// One cell of table 4-4.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The map's side in units.
    pub map: u32,
    /// The AOI's radius and the bucket's edge in units.
    pub aoi: u32,
    pub clients: u32,
    pub seed: u64,
}

impl Scenario {
    /// The world: an entity per client, which sees whole buckets, with nothing but a position, and limits that
    /// nothing reaches.
    pub fn config(&self) -> anyhow::Result<WorldConfig> {
        let Scenario {
            map,
            aoi,
            clients,
            seed,
        } = self;
        let text = format!(
            r#"
            [world]
            name = "thesis"
            size = [{map}, {map}]
            aoi = {aoi}
            capacity = {clients}
            seed = {seed}
            visible_max = 0

            [limits]
            clients = {clients}
            commands_per_tick = {clients}
            updates_per_tick = {updates}
            deliveries_per_tick = {deliveries}

            [[kind]]
            name = "client"
            population = {clients}
            "#,
            updates = clients * 2,
            deliveries = self.deliveries_max(),
        );
        let mut config = world_file::parse(&text, "the thesis's world")?;
        config.interest = InterestMode::Buckets;
        Ok(config)
    }

    /// A bound on deliveries: twice those of an even spread, and some, which no random
    /// spread reaches.
    pub fn deliveries_max(&self) -> u64 {
        let (clients, map, aoi) = (
            f64::from(self.clients),
            f64::from(self.map),
            f64::from(self.aoi),
        );
        let neighbourhood = (9.0 * aoi * aoi / (map * map)).min(1.0);
        let expected = clients * (1.0 + clients * neighbourhood);
        (2.0 * expected) as u64 + 16 * u64::from(self.clients)
    }
}
