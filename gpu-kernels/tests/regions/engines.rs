//! Every engine with every approach.

use gpu_kernels::regions::{Approach, CpuRegions, RegionEngine, RegionsConfig};

/// Each with its label.
pub fn engines(config: &RegionsConfig) -> Vec<(String, Box<dyn RegionEngine>)> {
    let mut engines: Vec<(String, Box<dyn RegionEngine>)> = vec![];
    for approach in Approach::ALL {
        for threads in [1, 3] {
            let mut engine = CpuRegions::new(config, threads).expect("the engine starts");
            engine.set_approach(approach);
            let label = format!("cpu, {threads} threads, {}", approach.name());
            engines.push((label, Box::new(engine)));
        }
    }
    engines
}
