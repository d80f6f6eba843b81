//! The paper's figures.

/// Table 1: causality errors by side, for d of 0.25 and 0.5.
pub const CAUSALITY_ERRORS: [(u32, [u64; 2]); 5] = [
    (64, [363, 1_177]),
    (128, [1_122, 3_738]),
    (256, [3_665, 11_450]),
    (512, [12_101, 36_184]),
    (1024, [36_466, 124_951]),
];

/// Table 2: seconds to simulate 2048 x 2048 facilities to 50,000 on a P100, by d in
/// thousandths: find min, selection, departure, arrival and total, with CUB's
/// minimum and the hybrid selection.
pub const BREAKDOWN: [(u32, [u32; 5]); 4] = [
    (250, [11, 22, 98, 64, 195]),
    (500, [6, 11, 94, 60, 171]),
    (1000, [3, 6, 87, 53, 149]),
    (2000, [1, 3, 81, 49, 134]),
];
