//! Names of a world that a language can't have as they are.

use bindings::{Language, World, generate};

fn world(attributes: &[&str]) -> World {
    let attributes = attributes
        .iter()
        .map(|name| format!("{{ name = \"{name}\", type = \"i32\", audience = \"state\" }}"));
    let attributes = attributes.collect::<Vec<_>>().join(", ");
    let text = format!(
        "[world]\nsize = [100, 100]\naoi = 20\ncapacity = 64\n[[kind]]\nname = \"player\"\n\
         attributes = [{attributes}]\n"
    );
    World::of(&world_file::parse(&text, "a test's world").expect("a valid world"))
}

#[test]
fn words_of_a_language_get_a_line_at_their_end() {
    let world = world(&["class", "namespace", "id"]);
    for (language, expected) in [
        (Language::Python, "def class_(self) -> int:"),
        (Language::CSharp, "public int Id_ => Seen.Whole(\"id\");"),
        (Language::GdScript, "var class_: int:"),
        (Language::TypeScript, "get class_(): number {"),
        (Language::Rust, "pub fn class(&self) -> i32 {"),
        (Language::Rust, "pub fn move_(&mut self, x: f64, y: f64)"),
        (
            Language::C,
            "static MyriadStatus world_player_class(MyriadClient",
        ),
    ] {
        let text = generate(&world, language).expect("bindings");
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn an_array_has_an_accessor_of_all_values_beside_those_of_each() {
    let text = include_str!("collections.toml");
    let world = World::of(&world_file::parse(text, "a test's world").expect("a valid world"));
    for (language, expected) in [
        (Language::Rust, "pub fn slot(&self) -> [Option<i32>; 3] {"),
        (Language::Rust, "pub fn slot_2(&self) -> Option<i32> {"),
        (Language::Rust, "/// All values of `slot`. What it carries."),
        (Language::Rust, "pub fn bag_wood(&self) -> Option<i32> {"),
        (Language::TypeScript, "get heat(): (number)[] {"),
        (Language::TypeScript, "return this.value(\"bag.stone\");"),
        (Language::Python, "def lit(self) -> list[bool]:"),
        (Language::Python, "return [self.friend_0, self.friend_1]"),
        (
            Language::CSharp,
            "public Symbol?[] Worn => new Symbol?[] { Worn0, Worn1 };",
        ),
        (Language::GdScript, "var heat: Array[float]:"),
        (Language::C, "collections_player_slot_0(MyriadClient"),
    ] {
        let text = generate(&world, language).expect("bindings");
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn names_that_would_be_alike_are_an_error_in_each_language() {
    let world = world(&["ready_at", "readyAt"]);
    for language in Language::ALL {
        let error = generate(&world, language)
            .expect_err("a collision")
            .to_string();
        let named = "`ready_at` and the attribute `readyAt`";
        let is_named = error.contains(named)
            || error.contains("`player.ready_at` and the attribute `player.readyAt`");
        assert!(is_named, "{}: {error}", language.name());
        assert!(error.ends_with(": rename one of them"), "{error}");
    }
}

#[test]
fn comments_of_the_world_file_are_the_documentation() {
    let text = "
        [world]
        size = [100, 100]
        aoi = 20
        capacity = 64

        # Who plays.
        [[kind]]
        name = \"player\"
        attributes = [
            # How much is left,
            # until it is over
            { name = \"hp\", type = \"i32\", min = 0, max = 9, audience = \"state\" },
            { name = \"heat\", type = \"fixed\", min = 0, audience = \"private\" },
        ]";
    let world = World::of(&world_file::parse(text, "a test's world").expect("a valid world"));
    let player = &world.kinds[0];
    assert_eq!(player.doc, "Who plays.");
    let docs: Vec<&str> = player.attributes.iter().map(|own| &*own.doc).collect();
    assert_eq!(
        docs,
        [
            "How much is left, until it is over. From 0 to 9.",
            "At least 0, in units. Only the entity's own client knows it.",
        ]
    );
}

#[test]
fn names_and_comments_may_be_any_text() {
    let text = r#"
        [world]
        name = "a\nb"
        size = [100, 100]
        aoi = 20
        capacity = 64

        # Ends with \
        [[kind]]
        name = "player"
        attributes = [
            # """ and */ and \
            { name = "mood", type = "symbol", symbols = ["so\nodd", "\"so\\\""], audience = "state" },
        ]"#;
    let world = World::of(&world_file::parse(text, "a test's world").expect("a valid world"));
    for language in Language::ALL {
        let text = generate(&world, language).expect("bindings");
        let name = language.name();
        assert!(
            text.contains("The world `a b` as its clients know it."),
            "{name}"
        );
        assert!(
            text.contains(r#""symbol so odd\n"#) || language == Language::Rust,
            "{name}"
        );
        assert!(!text.lines().any(|line| line.starts_with("odd")), "{name}");
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = folder.join(format!("odd.{name}"));
        std::fs::write(&path, text).expect("a file");
        let check = match language {
            Language::C => vec!["cc", "-Wall", "-Werror", "-fsyntax-only", "-x", "c", "-I"],
            Language::Python => vec!["python3", "-m", "py_compile"],
            _ => continue,
        };
        let mut command = std::process::Command::new(check[0]);
        command.args(&check[1..]);
        if language == Language::C {
            command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../ffi/include"));
        }
        // There may be no Python.
        if let Ok(checked) = command.arg(&path).output() {
            let errors = String::from_utf8_lossy(&checked.stderr);
            assert!(checked.status.success(), "{name}: {errors}");
        }
    }
}
