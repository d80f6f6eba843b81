//! Every engine with every approach.

use engines::regions::{Approach, CpuRegions, RegionEngine, RegionsConfig};

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
    engines.extend(cuda(config));
    engines
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn cuda(config: &RegionsConfig) -> Vec<(String, Box<dyn RegionEngine>)> {
    use engines::regions::CudaRegions;

    if testkit::backends::gpu().is_none() {
        return vec![];
    }
    let mut engines: Vec<(String, Box<dyn RegionEngine>)> = vec![];
    for approach in Approach::ALL {
        let mut engine = CudaRegions::new(0, config).expect("the engine starts");
        engine.set_approach(approach);
        engines.push((format!("cuda, {}", approach.name()), Box::new(engine)));
    }
    engines
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn cuda(_: &RegionsConfig) -> Vec<(String, Box<dyn RegionEngine>)> {
    println!("skipped: no GPU on this platform");
    vec![]
}
