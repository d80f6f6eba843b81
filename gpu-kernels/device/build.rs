//! Makes `libcuda.a`: a jump for each entry point of the CUDA driver that our
//! bindings name. The jumps lead to the driver once it has been loaded, and to an
//! error code where there is none, so that one binary runs on machines with and
//! without a GPU.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=driver/symbols.txt");
    println!("cargo::rerun-if-changed=build.rs");
    let is_target = |name: &str, value: &str| env::var(name).is_ok_and(|v| v == value);
    if !is_target("CARGO_CFG_TARGET_OS", "linux") || !is_target("CARGO_CFG_TARGET_ARCH", "x86_64") {
        return;
    }
    let symbols = fs::read_to_string("driver/symbols.txt").expect("driver/symbols.txt is there");
    let source =
        PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("driver.c");
    fs::write(&source, stubs(&symbols)).expect("OUT_DIR can be written to");
    cc::Build::new().file(&source).compile("cuda");
    println!("cargo::rustc-link-lib=dl");
}

fn stubs(symbols: &str) -> String {
    let symbols: Vec<&str> = symbols.lines().collect();
    let names: String = symbols.iter().map(|s| format!("\"{s}\",")).collect();
    let jumps: String = symbols
        .iter()
        .enumerate()
        .map(|(i, s)| {
            format!(
                "__asm__(\".globl {s}\\n.type {s},@function\\n{s}: jmp *myriad_cuda_table+{}(%rip)\\n\");\n",
                i * 8
            )
        })
        .collect();
    // 500 is CUDA_ERROR_NOT_FOUND.
    format!(
        r#"#include <dlfcn.h>
#include <stddef.h>
static int missing(void) {{ return 500; }}
static const char *const names[{n}] = {{ {names} }};
__attribute__((visibility("hidden"))) void *myriad_cuda_table[{n}];
/* 0: no driver; 1: loaded. */
int myriad_cuda_load(void) {{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < {n}; i++) {{
        void *entry = driver ? dlsym(driver, names[i]) : NULL;
        myriad_cuda_table[i] = entry ? entry : (void *)missing;
    }}
    return driver != NULL;
}}
{jumps}"#,
        n = symbols.len()
    )
}
