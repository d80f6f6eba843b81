//! The backends on which scripts are tried.

use gpu_kernels::CpuBackend;
use gpu_kernels::logic::Engine;
use platform::metrics::machine;
use shared::WorldConfig;
use testkit::backends::Starter;
use tick::backend::{BackendChoice, BackendOptions, Gpus, start_backend};

/// Machine code, the interpreter, and the GPU if there is one.
pub fn backends(config: &WorldConfig) -> Vec<Starter> {
    let threads = machine::cores();
    let cpu = |label: &str, engine| {
        Starter::new(label, move |config| {
            let backend = CpuBackend::with_engine(config, threads, None, engine)?;
            Ok(Box::new(backend))
        })
    };
    let mut backends = vec![
        cpu("cpu with the interpreter", Engine::Interpreter),
        cpu("cpu", Engine::Fastest),
    ];
    let options = BackendOptions {
        backend: BackendChoice::Cuda,
        gpus: Some(Gpus::one(0)),
    };
    if let Ok(started) = start_backend(options, config, threads, None) {
        backends.push(Starter::new(started.description, move |config| {
            Ok(start_backend(options, config, threads, None)?.backend)
        }));
    }
    backends
}
