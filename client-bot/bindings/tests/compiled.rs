//! Bindings of all worlds that come with the project are source code of their languages. C# and
//! TypeScript are compiled where `mcs` or `tsc` are installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bindings::{Language, generate};

use crate::shipped::{root, shipped, world};

/// The bindings of each world in a folder of its own, with these files beside them.
fn written(language: Language, file: &str, beside: &[&str]) -> Vec<PathBuf> {
    let worlds = shipped().into_iter().enumerate();
    let written = worlds.map(|(i, path)| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = folder.join(format!("{}-{i}", language.name()));
        fs::create_dir_all(&folder).expect("a folder");
        for file in beside {
            let file = root().join("client-bot").join(file);
            let name = file.file_name().expect("a file's name");
            fs::copy(&file, folder.join(name)).expect("a file of the project");
        }
        let text = generate(&world(&path), language).expect("bindings");
        fs::write(folder.join(file), text).expect("a file");
        folder
    });
    written.collect()
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program starts");
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    assert!(output.status.success(), "{command:?}: {printed}");
}

fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        println!("skipped: there is no {program}");
    }
    found
}

/// A test of the server compiles those of one world, and plays with them.
#[test]
fn rust_reads_the_bindings() {
    for folder in written(Language::Rust, "world.rs", &[]) {
        let text = fs::read_to_string(folder.join("world.rs")).expect("a file");
        if let Err(error) = syn::parse_file(&text) {
            panic!("{}: {error}", folder.display());
        }
    }
}

#[test]
fn c_and_cpp_compile_the_bindings() {
    for folder in written(Language::C, "world.h", &["ffi/include/myriad.h"]) {
        for language in [["c", "-std=c11"], ["c++", "-std=c++17"]] {
            run(Command::new("cc")
                .args([
                    "-Wall",
                    "-Wextra",
                    "-Wpedantic",
                    "-Werror",
                    "-fsyntax-only",
                    "-x",
                ])
                .args(language)
                .arg("world.h")
                .current_dir(&folder));
        }
    }
}

#[test]
fn python_compiles_the_bindings() {
    if !is_there("python3") {
        return;
    }
    for folder in written(Language::Python, "world.py", &[]) {
        let check = "compile(open('world.py').read(), 'world.py', 'exec')";
        run(Command::new("python3")
            .args(["-c", check])
            .current_dir(&folder));
    }
}

#[test]
fn typescript_checks_the_bindings() {
    if !is_there("tsc") {
        return;
    }
    for folder in written(Language::TypeScript, "world.ts", &["web/bindings.ts"]) {
        run(Command::new("tsc")
            .args([
                "--noEmit", "--strict", "--target", "es2022", "--module", "esnext",
            ])
            .args([
                "--moduleResolution",
                "bundler",
                "--allowImportingTsExtensions",
                "world.ts",
            ])
            .current_dir(&folder));
    }
}

#[test]
fn c_sharp_compiles_the_bindings() {
    if !is_there("mcs") {
        return;
    }
    let beside = ["ffi/csharp/Myriad.cs", "ffi/csharp/Bindings.cs"];
    for folder in written(Language::CSharp, "World.cs", &beside) {
        run(Command::new("mcs")
            .args([
                "-target:library",
                "-warnaserror",
                "-nowarn:0649",
                "-out:World.dll",
            ])
            .args(["Myriad.cs", "Bindings.cs", "World.cs"])
            .current_dir(&folder));
    }
}
