//! Source code for a game's client, made from its world: kinds, attributes, commands, notifications
//! and symbols as types of a language. It stands on the client of that language.
//!
//! | module | holds |
//! | --- | --- |
//! | [`world`] | the parts of a world that clients name, with their documentation |
//! | `comments` | the comments of a world file |
//! | [`names`] | names of a world as names of a language |
//! | `source` | lines of source code, indented |
//! | `rust`, `csharp`, `gdscript`, `typescript`, `python`, `c` | the languages, one file each |

mod c;
mod comments;
mod csharp;
mod gdscript;
pub mod names;
mod python;
mod rust;
mod source;
mod typescript;
pub mod world;

pub use names::Collision;
pub use world::World;

/// A language that bindings can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Rust,
    CSharp,
    GdScript,
    TypeScript,
    Python,
    C,
}

impl Language {
    pub const ALL: [Language; 6] = [
        Language::Rust,
        Language::CSharp,
        Language::GdScript,
        Language::TypeScript,
        Language::Python,
        Language::C,
    ];

    /// Its name in `--lang`.
    pub const fn name(self) -> &'static str {
        match self {
            Language::Rust => "rs",
            Language::CSharp => "cs",
            Language::GdScript => "gd",
            Language::TypeScript => "ts",
            Language::Python => "py",
            Language::C => "c",
        }
    }

    /// The language of a name in `--lang`.
    pub fn named(name: &str) -> Option<Language> {
        let mut all = Language::ALL.into_iter();
        all.find(|language| language.name() == name)
    }
}

/// The source code of a world's bindings.
pub fn generate(world: &World, language: Language) -> Result<String, Collision> {
    match language {
        Language::Rust => rust::generate(world),
        Language::CSharp => csharp::generate(world),
        Language::GdScript => gdscript::generate(world),
        Language::TypeScript => typescript::generate(world),
        Language::Python => python::generate(world),
        Language::C => c::generate(world),
    }
}
