//! The times in the thesis (2007): an Intel Core 2 Duo E6300, one thread, against
//! an NVIDIA 8800 GTX. Milliseconds.

/// A cell that the thesis marks INVALID is `None`: its card's memory was too small.
pub type Cell = Option<f64>;

/// One row of table 4-5 or 4-6.
pub struct Times {
    pub clients: u32,
    /// By AOI, 10 and 20: (CPU, GPU).
    pub by_aoi: [(Cell, Cell); 2],
}

/// One row of table 4-8: the GPU's steps at map 2500, AOI 10.
pub struct Steps {
    pub clients: u32,
    pub upload: f64,
    pub bucket_sorting: f64,
    pub logic_processing: f64,
    pub download: f64,
}

/// The (CPU, GPU) times of a scenario; nothing where the thesis has no such scenario.
pub fn times(map: u32, aoi: u32, clients: u32) -> Option<(Cell, Cell)> {
    let table = match map {
        2500 => &TABLE_4_5,
        5000 => &TABLE_4_6,
        _ => return None,
    };
    let column = [10, 20].iter().position(|&a| a == aoi)?;
    let row = table.iter().find(|row| row.clients == clients)?;
    Some(row.by_aoi[column])
}

/// The thesis's ratio of CPU to GPU time, as in table 4-7.
pub fn ratio(map: u32, aoi: u32, clients: u32) -> Option<Cell> {
    let row = TABLE_4_7.iter().find(|row| row.0 == clients)?;
    Some(row.1[column(map, aoi)?])
}

/// The (CPU, GPU) times without upload and download, as in tables 4-9 and 4-10. Table
/// 4-12 repeats the cells of the two scenarios whose clients fill buckets equally densely.
pub fn compute_times(map: u32, aoi: u32, clients: u32) -> Option<(Cell, Cell)> {
    let table = match map {
        2500 => &TABLE_4_9,
        5000 => &TABLE_4_10,
        _ => return None,
    };
    let column = [10, 20].iter().position(|&a| a == aoi)?;
    let row = table.iter().find(|row| row.0 == clients)?;
    // The CPU uploads nothing.
    Some((times(map, aoi, clients)?.0, row.1[column]))
}

/// The thesis's ratio of CPU to GPU time without upload and download, as in table 4-11.
/// At map 2500 it is higher than that of the times in table 4-9, which must be of another
/// run.
pub fn compute_ratio(map: u32, aoi: u32, clients: u32) -> Option<Cell> {
    let row = TABLE_4_11.iter().find(|row| row.0 == clients)?;
    Some(row.1[column(map, aoi)?])
}

/// The GPU's steps, which the thesis has for one scenario only.
pub fn steps(map: u32, aoi: u32, clients: u32) -> Option<&'static Steps> {
    let row = TABLE_4_8.iter().find(|row| row.clients == clients)?;
    ((map, aoi) == (2500, 10)).then_some(row)
}

/// The column of a scenario in tables 4-7 and 4-11.
fn column(map: u32, aoi: u32) -> Option<usize> {
    SCENARIOS.iter().position(|&s| s == (map, aoi))
}

const fn times_row(clients: u32, aoi_10: (Cell, Cell), aoi_20: (Cell, Cell)) -> Times {
    Times {
        clients,
        by_aoi: [aoi_10, aoi_20],
    }
}

const SCENARIOS: [(u32, u32); 4] = [(2500, 10), (2500, 20), (5000, 10), (5000, 20)];

const TABLE_4_5: [Times; 11] = [
    times_row(512, (Some(2.303), Some(9.299)), (Some(5.425), Some(9.348))),
    times_row(
        1024,
        (Some(4.624), Some(10.529)),
        (Some(10.869), Some(10.602)),
    ),
    times_row(
        2048,
        (Some(9.259), Some(12.255)),
        (Some(21.804), Some(12.828)),
    ),
    times_row(
        4096,
        (Some(18.711), Some(14.296)),
        (Some(43.871), Some(16.082)),
    ),
    times_row(
        8192,
        (Some(37.954), Some(19.628)),
        (Some(89.346), Some(26.174)),
    ),
    times_row(
        16_384,
        (Some(77.139), Some(34.020)),
        (Some(184.965), Some(59.245)),
    ),
    times_row(
        32_768,
        (Some(160.524), Some(78.416)),
        (Some(393.089), Some(180.017)),
    ),
    times_row(
        65_536,
        (Some(346.258), Some(226.567)),
        (Some(872.226), Some(655.178)),
    ),
    times_row(
        131_072,
        (Some(787.703), Some(769.591)),
        (Some(2020.357), Some(2593.582)),
    ),
    times_row(
        262_144,
        (Some(1917.623), Some(2903.820)),
        (Some(5015.093), Some(10_695.969)),
    ),
    times_row(524_288, (Some(4982.445), Some(11_562.311)), (None, None)),
];

const TABLE_4_6: [Times; 11] = [
    times_row(512, (Some(2.551), Some(9.271)), (Some(5.872), Some(9.299))),
    times_row(
        1024,
        (Some(5.094), Some(10.450)),
        (Some(11.717), Some(10.503)),
    ),
    times_row(
        2048,
        (Some(10.177), Some(12.429)),
        (Some(23.392), Some(12.335)),
    ),
    times_row(
        4096,
        (Some(20.408), Some(14.028)),
        (Some(47.006), Some(14.405)),
    ),
    times_row(
        8192,
        (Some(40.924), Some(17.781)),
        (Some(94.659), Some(19.602)),
    ),
    times_row(
        16_384,
        (Some(82.299), Some(26.537)),
        (Some(190.806), Some(33.853)),
    ),
    times_row(
        32_768,
        (Some(166.343), Some(48.732)),
        (Some(388.601), Some(78.061)),
    ),
    times_row(
        65_536,
        (Some(339.565), Some(112.016)),
        (Some(804.078), Some(226.177)),
    ),
    times_row(
        131_072,
        (Some(706.888), Some(307.877)),
        (Some(1707.657), Some(766.990)),
    ),
    times_row(
        262_144,
        (Some(1520.068), Some(963.912)),
        (Some(3780.537), Some(2897.588)),
    ),
    times_row(
        524_288,
        (Some(3421.073), Some(3374.011)),
        (Some(8741.187), Some(11_540.627)),
    ),
];

const TABLE_4_7: [(u32, [Cell; 4]); 11] = [
    (512, [Some(0.248), Some(0.580), Some(0.275), Some(0.632)]),
    (1024, [Some(0.439), Some(1.025), Some(0.487), Some(1.116)]),
    (2048, [Some(0.756), Some(1.700), Some(0.819), Some(1.896)]),
    (4096, [Some(1.309), Some(2.728), Some(1.455), Some(3.263)]),
    (8192, [Some(1.934), Some(3.414), Some(2.302), Some(4.829)]),
    (16_384, [Some(2.267), Some(3.122), Some(3.101), Some(5.636)]),
    (32_768, [Some(2.047), Some(2.184), Some(3.413), Some(4.978)]),
    (65_536, [Some(1.528), Some(1.331), Some(3.031), Some(3.555)]),
    (
        131_072,
        [Some(1.024), Some(0.779), Some(2.296), Some(2.226)],
    ),
    (
        262_144,
        [Some(0.660), Some(0.469), Some(1.577), Some(1.305)],
    ),
    (524_288, [Some(0.431), None, Some(1.014), Some(0.757)]),
];

const TABLE_4_8: [Steps; 11] = [
    Steps {
        clients: 512,
        upload: 0.025,
        bucket_sorting: 5.198,
        logic_processing: 3.991,
        download: 0.085,
    },
    Steps {
        clients: 1024,
        upload: 0.033,
        bucket_sorting: 5.291,
        logic_processing: 5.028,
        download: 0.177,
    },
    Steps {
        clients: 2048,
        upload: 0.046,
        bucket_sorting: 5.480,
        logic_processing: 6.341,
        download: 0.388,
    },
    Steps {
        clients: 4096,
        upload: 0.070,
        bucket_sorting: 5.933,
        logic_processing: 7.193,
        download: 1.099,
    },
    Steps {
        clients: 8192,
        upload: 0.128,
        bucket_sorting: 6.885,
        logic_processing: 9.228,
        download: 3.388,
    },
    Steps {
        clients: 16_384,
        upload: 0.235,
        bucket_sorting: 8.770,
        logic_processing: 12.801,
        download: 12.215,
    },
    Steps {
        clients: 32_768,
        upload: 0.387,
        bucket_sorting: 12.845,
        logic_processing: 20.762,
        download: 44.422,
    },
    Steps {
        clients: 65_536,
        upload: 0.688,
        bucket_sorting: 21.738,
        logic_processing: 37.891,
        download: 166.249,
    },
    Steps {
        clients: 131_072,
        upload: 1.323,
        bucket_sorting: 39.133,
        logic_processing: 76.725,
        download: 652.409,
    },
    Steps {
        clients: 262_144,
        upload: 2.556,
        bucket_sorting: 72.936,
        logic_processing: 168.346,
        download: 2659.982,
    },
    Steps {
        clients: 524_288,
        upload: 5.053,
        bucket_sorting: 137.026,
        logic_processing: 413.857,
        download: 11_006.376,
    },
];

/// The GPU, at map 2500; the CPU's columns are those of table 4-5.
const TABLE_4_9: [(u32, [Cell; 2]); 11] = [
    (512, [Some(9.189), Some(9.209)]),
    (1024, [Some(10.319), Some(10.296)]),
    (2048, [Some(11.821), Some(11.980)]),
    (4096, [Some(13.126), Some(13.271)]),
    (8192, [Some(16.112), Some(16.100)]),
    (16_384, [Some(21.570), Some(22.135)]),
    (32_768, [Some(33.607), Some(34.549)]),
    (65_536, [Some(59.629), Some(62.369)]),
    (131_072, [Some(115.858), Some(127.571)]),
    (262_144, [Some(241.282), Some(326.096)]),
    (524_288, [Some(550.882), None]),
];

/// The GPU, at map 5000; the CPU's columns are those of table 4-6.
const TABLE_4_10: [(u32, [Cell; 2]); 11] = [
    (512, [Some(9.167), Some(9.191)]),
    (1024, [Some(10.285), Some(9.191)]),
    (2048, [Some(12.120), Some(11.889)]),
    (4096, [Some(13.310), Some(13.234)]),
    (8192, [Some(16.051), Some(16.006)]),
    (16_384, [Some(21.584), Some(21.628)]),
    (32_768, [Some(33.409), Some(33.684)]),
    (65_536, [Some(58.235), Some(59.650)]),
    (131_072, [Some(110.369), Some(114.769)]),
    (262_144, [Some(223.584), Some(241.614)]),
    (524_288, [Some(475.944), Some(550.768)]),
];

const TABLE_4_11: [(u32, [Cell; 4]); 11] = [
    (512, [Some(0.577), Some(1.357), Some(0.278), Some(0.639)]),
    (1024, [Some(0.920), Some(2.173), Some(0.495), Some(1.275)]),
    (2048, [Some(1.460), Some(3.369), Some(0.840), Some(1.968)]),
    (4096, [Some(2.601), Some(5.966), Some(1.533), Some(3.552)]),
    (8192, [Some(4.113), Some(9.692), Some(2.550), Some(5.914)]),
    (
        16_384,
        [Some(6.026), Some(13.881), Some(3.813), Some(8.822)],
    ),
    (
        32_768,
        [Some(7.731), Some(18.103), Some(4.979), Some(11.537)],
    ),
    (
        65_536,
        [Some(9.138), Some(21.088), Some(5.831), Some(13.480)],
    ),
    (
        131_072,
        [Some(10.267), Some(22.041), Some(6.405), Some(14.879)],
    ),
    (
        262_144,
        [Some(11.391), Some(19.079), Some(6.799), Some(15.647)],
    ),
    (524_288, [Some(12.039), None, Some(7.188), Some(15.871)]),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A printed ratio, and the one of the printed times.
    fn ratios(printed: Option<Cell>, times: Option<(Cell, Cell)>) -> (Cell, Cell) {
        let (cpu, gpu) = times.unwrap();
        (printed.unwrap(), cpu.zip(gpu).map(|(cpu, gpu)| cpu / gpu))
    }

    fn assert_close(a: Cell, b: Cell) {
        match (a, b) {
            (Some(a), Some(b)) => assert!((a - b).abs() < 0.001_01, "{a} and {b}"),
            (a, b) => assert_eq!(a, b),
        }
    }

    #[test]
    fn the_ratios_are_those_of_the_times() {
        for (clients, _) in TABLE_4_7 {
            for (map, aoi) in SCENARIOS {
                let printed = ratio(map, aoi, clients);
                let (printed, computed) = ratios(printed, times(map, aoi, clients));
                assert_close(printed, computed);
            }
        }
    }

    #[test]
    fn the_ratios_of_computing_are_those_of_the_times_at_the_larger_map_only() {
        for (clients, _) in TABLE_4_11 {
            for (map, aoi) in SCENARIOS {
                let printed = compute_ratio(map, aoi, clients);
                let times = compute_times(map, aoi, clients);
                match ratios(printed, times) {
                    (Some(printed), Some(computed)) if map == 2500 => {
                        let more = printed / computed;
                        assert!((1.2..2.4).contains(&more), "{more} at {clients}, AOI {aoi}");
                    }
                    (printed, computed) => assert_close(printed, computed),
                }
            }
        }
    }

    #[test]
    fn computing_is_bucket_sorting_and_logic_processing() {
        for steps in &TABLE_4_8 {
            let (_, compute) = compute_times(2500, 10, steps.clients).unwrap();
            assert_close(compute, Some(steps.bucket_sorting + steps.logic_processing));
        }
    }
}
