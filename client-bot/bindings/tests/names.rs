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
