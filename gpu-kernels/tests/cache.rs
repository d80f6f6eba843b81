//! Scripts that were compiled for a GPU are not compiled again, unless what was kept of them
//! is damaged.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use gpu_kernels::tick::cuda::{CodeCache, CudaOptions};
use gpu_kernels::{Backend, CudaBackend, Frame, StateHash};
use script::logic::with_logic;
use shared::world::logic::Constant;
use shared::{Tick, WorldConfig};
use testkit::backends::gpu;

/// A cache in memory.
#[derive(Debug, Default)]
pub struct Kept(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    by_key: BTreeMap<String, Vec<u8>>,
    /// How often anything was put.
    puts: usize,
}

impl CodeCache for Kept {
    fn get(&self, key: &str) -> Option<Vec<u8>> {
        assert!(key.bytes().all(|byte| byte.is_ascii_hexdigit()));
        self.0.lock().unwrap().by_key.get(key).cloned()
    }

    fn put(&self, key: &str, bytes: &[u8]) {
        let mut entries = self.0.lock().unwrap();
        entries.by_key.insert(key.to_owned(), bytes.to_vec());
        entries.puts += 1;
    }
}

impl Kept {
    fn puts(&self) -> usize {
        self.0.lock().unwrap().puts
    }
}

#[test]
fn what_was_compiled_once_is_not_compiled_again() {
    if gpu().is_none() {
        return;
    }
    let file = "[[kind]]\nname = \"rover\"\npopulation = 50\n\
                [[every]]\nkind = \"rover\"\nticks = 1\ncommand = \"roam\"\n";
    let config = world_file::parse(file, "cache").unwrap();
    let kept = Arc::new(Kept::default());
    let hash = run(&config, &kept);
    let scripts = kept.puts();
    assert!(scripts >= 2, "{scripts}");
    assert_eq!(run(&config, &kept), hash);
    assert_eq!(kept.puts(), scripts);

    // One of the scripts does something else.
    let mut logic = config.logic.clone();
    let roam = logic.constants.entry("roam".to_owned()).or_default();
    roam.insert("step".to_owned(), Constant::Float(2.5));
    let other = with_logic(&config, &logic).unwrap();
    assert_ne!(run(&other, &kept), hash);
    assert_eq!(kept.puts(), scripts + 1);

    // Another place of each entry is damaged, or its end is missing.
    for (i, bytes) in kept.0.lock().unwrap().by_key.values_mut().enumerate() {
        match i % 2 {
            0 => bytes.truncate(bytes.len() / 2),
            _ => bytes[100 + i] ^= 1,
        }
    }
    assert_eq!(run(&config, &kept), hash);
    assert_eq!(kept.puts(), 2 * scripts + 1);
}

/// The state after some ticks of a world that starts with this cache.
fn run(config: &WorldConfig, kept: &Arc<Kept>) -> StateHash {
    let options = CudaOptions {
        cache: Some(kept.clone()),
        ..CudaOptions::default()
    };
    let begun = Instant::now();
    let mut backend = CudaBackend::new(config, &options).unwrap();
    println!("started in {:?}", begun.elapsed());
    let mut frame = Frame::new(Tick(0));
    frame.populate(config);
    for tick in 1..5 {
        backend.tick(&frame).unwrap();
        frame.reset(Tick(tick));
    }
    backend.state_hash().unwrap()
}
