//! The header for C equals the declarations in Rust.
//!
//! `UPDATE_HEADER=1 cargo test -p client-ffi --test it header` writes it.

use std::path::Path;

use cbindgen::{
    Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, Language, RenameRule, Style,
};

#[test]
fn the_header_is_that_of_the_declarations() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = crate_folder.join("include/myriad.h");
    let header = header(&crate_folder.join("src"));
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&path, &header).expect("the header can be written");
    }
    let committed = std::fs::read_to_string(&path).expect("the header is there");
    assert_eq!(
        committed, header,
        "UPDATE_HEADER=1 cargo test -p client-ffi --test it header writes the header"
    );
}

fn header(sources: &Path) -> String {
    let config = Config {
        language: Language::C,
        cpp_compat: true,
        include_guard: Some("MYRIAD_H".to_owned()),
        autogen_warning: Some(
            "/* A client of Myriad: see README.md beside this folder. Generated from src. */"
                .to_owned(),
        ),
        documentation_style: DocumentationStyle::C99,
        style: Style::Both,
        usize_is_size_t: true,
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"]
            .map(str::to_owned)
            .to_vec(),
        export: ExportConfig {
            // It is passed as a number, so that any number is safe.
            include: vec!["MyriadTalk".to_owned()],
            rename: [("EventType".to_owned(), "MyriadEventType".to_owned())].into(),
            ..ExportConfig::default()
        },
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..EnumConfig::default()
        },
        ..Config::default()
    };
    let mut builder = Builder::new().with_config(config);
    // In the order in which a reader needs them.
    for name in [
        "failure",
        "clients",
        "connection",
        "next_event",
        // The types of events are those of all clients.
        "../../core/src/named",
        "events",
        "world",
        "schema",
        "input",
        "interest",
        "rankings",
        "things",
        "members",
        "talk",
    ] {
        builder = builder.with_src(sources.join(name).with_extension("rs"));
    }
    let bindings = builder.generate().expect("the sources can be read");
    let mut header = vec![];
    bindings.write(&mut header);
    String::from_utf8(header).expect("a header is text")
}
