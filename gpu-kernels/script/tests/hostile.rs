//! Texts that are made to hurt: each one is compiled or rejected soon, and its problems can
//! be drawn. Nothing panics; the compiler's own stack, which the limits on texts keep it
//! within, does not overflow.

use std::time::{Duration, Instant};

use crate::common::{TestWorld, compile, compile_all, drawn};
use script::Problem;
use shared::world::logic::{Constants, Text};

/// Far above what any text needs, also where tests share a slow machine.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Compiles texts; what is wrong with them, if anything.
fn problems(texts: &[Text]) -> Vec<Problem> {
    let begin = Instant::now();
    let problems = compile_all(texts, &Constants::default()).err();
    let problems = problems.unwrap_or_default();
    let diagnostics: Vec<_> = problems.iter().filter_map(Problem::diagnostic).collect();
    script::diagnostic::draw(&diagnostics, texts, false);
    let time = begin.elapsed();
    let bytes: usize = texts.iter().map(|text| text.text.len()).sum();
    println!(
        "{time:8.1?} {bytes:8} bytes: {:?}",
        problems.first().map(Problem::to_string)
    );
    assert!(time < TIME_MAX, "{time:?} for {:.200}", texts[0].text);
    assert!(problems.len() <= 64);
    problems
}

/// The first problem of a text; "" if it has none.
fn problem(text: &str) -> String {
    let problems = problems(&[Text::new("test.rs", text)]);
    problems.first().map(Problem::to_string).unwrap_or_default()
}

fn command(body: &str) -> String {
    format!("#[command(clients)] fn test(me: Entity, n: i32) {{ {body} }}")
}

/// `open` `n` times, `middle`, `close` `n` times.
fn nested(open: &str, middle: &str, close: &str, n: usize) -> String {
    open.repeat(n) + middle + &close.repeat(n)
}

/// The most tokens of a statement, less those around the ones that are repeated.
const STATEMENT: usize = 1000;

#[test]
fn deep_texts_are_within_the_stack() {
    // What is repeated, and how many tokens of one statement it has.
    let statements = [
        ("-", "n", "", 1),
        ("!", "n", "", 1),
        ("*", "n", "", 1),
        ("&", "n", "", 1),
        ("&mut ", "n", "", 2),
        ("return ", "n", "", 1),
        ("break ", "n", "", 1),
        ("|| ", "n", "", 2),
        ("move || ", "n", "", 3),
        ("|a| ", "n", "", 3),
        ("|a: i32| -> i32 ", "{}", "", 8),
        ("n = ", "n", "", 2),
        ("n += ", "n", "", 3),
        ("n + ", "n", "", 2),
        ("n - -", "n", "", 3),
        ("n && ", "true", "", 3),
        ("n > 0 || ", "true", "", 5),
        ("n.", "n", "", 2),
        ("", "n", ".max(n)", 4),
        ("", "n", "?", 1),
        ("", "n", "[0]", 1),
        ("", "n", "()", 1),
        ("", "n", ".await", 2),
        ("", "n", " as i32", 2),
        ("", "n", " as Fixed as i32", 4),
        ("..", "n", "", 2),
        ("if n > 0 {} else ", "{}", "", 6),
        ("if n > 0 { 1 } else ", "{ 1 }", "", 6),
        ("if ", "true", "{}", 2),
        ("if let n = ", "n", "{}", 5),
        ("match ", "n", "{ _ => n }", 2),
        ("while ", "n", "{}", 2),
        ("for i in ", "n", "{}", 4),
        ("let x = ", "n", "", 3),
        ("async ", "{}", "", 1),
        ("unsafe ", "{}", "", 1),
        ("loop ", "{}", "", 1),
        ("'a: ", "{}", "", 3),
        ("n as A<", "i32", ">", 5),
        ("n as <", "i32", " as A>::B", 9),
        ("f::<", "i32", ">", 6),
        ("n as &", "i32", "", 2),
        ("n as fn() -> ", "i32", "", 5),
        ("n as *const ", "i32", "", 3),
        ("n as dyn A + ", "B", "", 4),
        ("n as impl Fn() -> ", "i32", "", 6),
        ("a!", "{}", "", 2),
        ("#[a] ", "n", "", 2),
        ("yield ", "n", "", 1),
        ("box ", "n", "", 1),
        ("const ", "{}", "", 1),
        ("n..=", "n", "", 4),
        ("n < ", "n", "", 2),
    ];
    for (open, middle, close, tokens) in statements {
        let value = nested(open, middle, close, STATEMENT / tokens);
        problem(&command(&format!("{value};")));
        problem(&command(&format!("let a = {value};")));
        problem(&command(&format!("let a: {value} = 1;")));
        problem(&command(&format!("let {value} = 1;")));
        problem(&command(&format!("match n {{ {value} => 1 }}")));
        problem(&format!("const A: i32 = {value};"));
        problem(&format!("const A: {value} = 1;"));
        problem(&format!("fn f(a: {value}) {{}}"));
        problem(&value);
        let endless = nested(open, middle, close, 60_000 / (open.len() + close.len()));
        problem(&command(&format!("{endless};")));
        problem(&endless);
    }
}

#[test]
fn deep_brackets_are_within_the_stack() {
    let brackets = [
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("f(", ")"),
        ("f(n, ", ")"),
        ("n[", "]"),
        ("-(", ")"),
        ("if n > 0 { ", " }"),
        ("if n > 0 {} else { ", " }"),
        ("for i in 0..n { ", " }"),
        ("match n { _ => ", " }"),
        ("match n { 1 => {}, _ => { ", " } }"),
        ("min(n, ", ")"),
        ("abs(", ")"),
        ("unsafe { ", " }"),
        ("|a| {", "}"),
        ("fn f() { ", " }"),
        ("mod m { ", " }"),
        ("a!(", ")"),
        ("A { a: ", " }"),
        ("tell(A { a: ", " })"),
        ("after(1, ", ")"),
    ];
    for (open, close) in brackets {
        for n in [
            10,
            23,
            46,
            47,
            48,
            49,
            64,
            60_000 / (open.len() + close.len()),
        ] {
            let value = nested(open, "n", close, n);
            problem(&command(&value));
            problem(&command(&format!("let a = {value};")));
            problem(&command(&format!("let a: {value} = 1;")));
            problem(&command(&format!("let {value} = 1;")));
            problem(&format!("const A: i32 = {value};"));
            problem(&value);
            problem(&open.repeat(n));
            problem(&close.repeat(n));
        }
    }
    let deep = command(&nested("(", "n", ")", 60));
    assert_eq!(
        problem(&deep),
        "test.rs:1:98: brackets nest more than 48 deep"
    );
    // As many tokens of one statement as brackets allow.
    let value = nested(&format!("{}(", "-".repeat(19)), "n", ")", 47);
    problem(&command(&value));
    let value = nested(&format!("f({}", "return ".repeat(19)), "n", ")", 46);
    problem(&command(&value));
}

#[test]
fn a_statement_has_a_length() {
    let sum = |n| command(&format!("me.gold += n{};", " + 1".repeat(n)));
    assert_eq!(problem(&sum(500)), "");
    let long = "the statement has more than 1024 words and signs: split it before this";
    assert_eq!(problem(&sum(600)), format!("test.rs:1:2092: {long}"));
    let branches =
        |n| command(&"if n == 1 { me.gold += 1; } else ".repeat(n)).replace("else  }", "}");
    assert_eq!(problem(&branches(140)), "");
    assert!(problem(&branches(160)).ends_with(long));
    // Statements, arms and items don't add up.
    assert_eq!(
        problem(&command(&"if n == 1 { me.gold += 1; } ".repeat(500))),
        ""
    );
    let arms: String = (0..900)
        .map(|i| format!("{i} => me.gold += {i}, "))
        .collect();
    assert_eq!(
        problem(&command(&format!("match n {{ {arms} _ => {{}} }}"))),
        ""
    );
    let constants: String = (0..2000)
        .map(|i| format!("const C{i}: i32 = {i};"))
        .collect();
    assert_eq!(problem(&constants), "");
    let docs = "/// A line.\n".repeat(2000) + &command("");
    assert_eq!(problem(&docs), "");
}

#[test]
fn doubling_helpers_end_soon() {
    let levels = |last: &str, level: &str| {
        let level = |i: usize| level.replace("NEXT", &format!("f{}(n)", i + 1));
        let levels: String = (0..31)
            .map(|i| format!("fn f{i}(n: i32) -> i32 {{ {} }}\n", level(i)))
            .collect();
        levels + &format!("fn f31(n: i32) -> i32 {{ {last} }}\n") + &command("me.gold += f0(n);")
    };
    for level in [
        "NEXT + NEXT",
        "NEXT; NEXT",
        "let a = NEXT; let b = NEXT; a + b",
        "if n > 0 { NEXT } else { NEXT }",
        "match n { 1 => NEXT, _ => NEXT }",
        // Never reached, so that no instruction is left.
        "if false { NEXT; NEXT; } 1",
        "if true { 1 } else { NEXT + NEXT }",
        "if false && NEXT + NEXT > 0 { 1 } else { 2 }",
        "if true || { NEXT; NEXT; true } { 1 } else { 2 }",
        // With problems on the way.
        "NEXT; unknown; NEXT; unknown",
        "let a: bool = NEXT; NEXT + NEXT",
        "for i in 0..NEXT { NEXT; } 1",
        "for other in near(point(0, 0), 1.0) { NEXT; NEXT; } 1",
    ] {
        for last in ["1", "n", "unknown", "if n > 1 { return 2; } n"] {
            let text = levels(last, level);
            problem(&text);
            // Many that double.
            let more: String = (0..300)
                .map(|i| format!("fn g{i}(n: i32) -> i32 {{ f0(n) }}"))
                .collect();
            problem(&format!("{text}{more}"));
        }
    }
    let text = levels("n", "NEXT + NEXT");
    let expected = "the command has more than 8192 instructions";
    assert!(problem(&text).contains(expected), "{}", problem(&text));
    let text = levels("1", "if false { NEXT; NEXT; } 1");
    assert!(problem(&text).contains(expected), "{}", problem(&text));
    // Without parameters all is constant.
    let constant = levels("1", "NEXT + NEXT")
        .replace("(n)", "()")
        .replace("(n: i32)", "()")
        + "const A: i32 = f0();";
    assert!(
        problem(&constant).contains(expected),
        "{}",
        problem(&constant)
    );
}

#[test]
fn what_leads_back_to_itself_is_rejected() {
    assert!(problem("const A: i32 = A;").contains("`A` leads back to itself"));
    let ring = |n: usize| -> String {
        (0..n)
            .map(|i| format!("pub const C{i}: i32 = C{};\n", (i + 1) % n))
            .collect()
    };
    assert!(problem(&ring(2)).contains("leads back to itself"));
    problem(&ring(1500));
    assert!(problem("fn f() { f(); }").contains("`f` leads back to itself"));
    let ring = |n: usize| -> String {
        (0..n)
            .map(|i| format!("fn f{i}() {{ f{}(); }}\n", (i + 1) % n))
            .collect()
    };
    assert!(problem(&ring(2)).contains("leads back to itself"));
    assert!(problem(&ring(1000)).contains("function calls nest too deep"));
    problem("const A: i32 = f(); fn f() -> i32 { A }");
    problem("const A: i32 = { f(); 1 }; fn f() -> i32 { g() } fn g() -> i32 { A + f() }");
    problem("#[range(A, B)] const A: i32 = 1; #[range(A, B)] const B: i32 = 1;");
}

#[test]
fn long_chains_of_constants_are_within_the_stack() {
    let chain = |n: usize, value: &str| -> String {
        let name = |i: usize| format!("C{i}");
        let link = |i| {
            format!(
                "pub const C{i}: i32 = {};\n",
                value.replace("NEXT", &name(i + 1))
            )
        };
        (0..n).map(link).collect::<String>() + &format!("pub const C{n}: i32 = 1;")
    };
    for value in [
        "NEXT",
        "NEXT + NEXT",
        "-NEXT",
        "{ NEXT }",
        "if true { NEXT } else { 1 }",
    ] {
        assert_eq!(problem(&chain(100, value)), "", "{value}");
        problem(&chain(1000, value));
    }
    let deep = problem(&chain(2000, "NEXT"));
    assert!(deep.contains("expressions nest too deep"), "{deep}");
    // Each one nests as deep as a statement may.
    problem(&chain(60, &format!("{}NEXT", "-".repeat(900))));
    let calls: String = (0..31)
        .map(|i| {
            format!(
                "fn f{i}(n: i32) -> i32 {{ {}f{}(n) }}",
                "-".repeat(400),
                i + 1
            )
        })
        .collect();
    problem(&format!("{calls} fn f31(n: i32) -> i32 {{ n }}"));
}

#[test]
fn many_items_are_compiled_or_rejected_soon() {
    let functions: String = (0..1500).map(|i| format!("fn f{i}() {{}}\n")).collect();
    assert_eq!(problem(&functions), "");
    let commands: String = (0..300)
        .map(|i| format!("#[command] fn c{i}() {{}}\n"))
        .collect();
    assert!(problem(&commands).contains("the world has had too many commands: at most 256"));
    let hooks = |count: usize| -> String {
        let on = "#[on(join)] #[on(leave)] #[on(birth)] #[on(fall)] #[on(enter, \"shrine\")]";
        let hooks = (0..count).map(|i| format!("{on} fn h{i}(me: Entity) {{ me.hp += 1; }}\n"));
        hooks.collect()
    };
    assert_eq!(problem(&hooks(204)), "");
    assert!(problem(&hooks(205)).contains("the world has too many hooks: at most 1024"));
    let structs: String = (0..100)
        .map(|i| format!("struct S{i} {{ a: i32 }}\n"))
        .collect();
    assert!(problem(&structs).contains("the world has had too many notifications: at most 64"));
    let tells: String = (0..100).map(|i| format!("tell(S{i} {{ n }});")).collect();
    assert!(problem(&command(&tells)).contains("too many notifications"));
    let unknown: String = (0..2000).map(|i| format!("abcdefghijklmnop{i};")).collect();
    problem(&command(&unknown));
    let same = "fn f() {} const A: i32 = 1; struct S {} #[command] fn c() {}".repeat(500);
    problem(&same);
    let pairs: String = (0..4000).map(|i| format!("let a{i} = n;")).collect();
    problem(&command(&pairs));
    let unused: String = (1..1600)
        .map(|i| format!("let a{i} = a{} + 1;", i - 1))
        .collect();
    assert_eq!(problem(&command(&format!("let a0 = n; {unused}"))), "");
    let copies: String = (1..1000)
        .map(|i| format!("let mut a{i} = a{};", i - 1))
        .collect();
    assert_eq!(
        problem(&command(&format!(
            "let mut a0 = n; {copies} me.gold += a999;"
        ))),
        ""
    );
    let updates = "me.gold += n;".repeat(2000);
    assert_eq!(problem(&command(&updates)), "");
    let returns = "if n > 1 { return; } ".repeat(1000);
    assert_eq!(problem(&command(&returns)), "");
    let parameters: String = (0..2000).map(|i| format!("a{i}: i32, ")).collect();
    problem(&format!(
        "#[command] fn f({parameters}) {{}} fn g({parameters}) {{}}"
    ));
}

#[test]
fn many_texts_are_compiled_or_rejected_soon() {
    let texts = |n: usize, text: &dyn Fn(usize) -> String| -> Vec<Text> {
        (0..n)
            .map(|i| Text::new(format!("t{i}.rs"), text(i)))
            .collect()
    };
    let first = |texts: &[Text]| problems(texts).first().map(Problem::to_string);
    assert_eq!(
        first(&texts(257, &|_| String::new())).unwrap(),
        "logic: at most 256 texts are allowed, found 257"
    );
    assert_eq!(
        first(&texts(17, &|_| " ".repeat(64 << 10))).unwrap(),
        "logic: the texts may have 1048576 bytes together, found 1114112"
    );
    assert_eq!(
        first(&texts(1, &|_| " ".repeat((64 << 10) + 1))).unwrap(),
        "t0.rs:1:1: the text has 65537 bytes: at most 65536 are allowed"
    );
    let constants = |i: usize| -> String {
        (0..1400)
            .map(|j| format!("pub const C{}: i32 = C{};", i * 1400 + j, i * 1400 + j + 1))
            .collect()
    };
    problems(&texts(16, &constants));
    let functions = |i: usize| -> String {
        let helpers = (0..1000).map(|j| format!("pub fn f{i}x{j}() {{ f{i}x{}(); }}", j + 1));
        helpers.collect()
    };
    problems(&texts(16, &functions));
    let doubling = |i: usize| -> String {
        let levels = (0..31).map(|j| format!("fn f{j}() -> i32 {{ f{}() + f{}() }}", j + 1, j + 1));
        let commands = (0..16).map(|j| format!("#[command] fn c{i}x{j}() {{ f0(); }}"));
        levels.collect::<String>() + "fn f31() -> i32 { 1 }" + &commands.collect::<String>()
    };
    problems(&texts(16, &doubling));
    // Each one is short enough, all together are not.
    let long = |i: usize| -> String {
        let levels = (0..11).map(|j| {
            format!(
                "fn f{j}(n: i32) -> i32 {{ f{}(n) + f{}(-n) }}",
                j + 1,
                j + 1
            )
        });
        let commands = (0..12)
            .map(|j| format!("#[command] fn c{i}x{j}(me: Entity, n: i32) {{ me.gold += f0(n); }}"));
        levels.collect::<String>() + "fn f11(n: i32) -> i32 { n }" + &commands.collect::<String>()
    };
    assert_eq!(first(&texts(1, &long)), None);
    assert!(
        first(&texts(16, &long))
            .unwrap()
            .contains("all texts together are too long")
    );
    // Nothing of it has a use, which is found from its end.
    let unused = |i: usize| -> String {
        let chain: String = (1..800)
            .map(|j| format!("let a{j} = a{} + n;", j - 1))
            .collect();
        let helper = format!("fn f(n: i32) -> i32 {{ let a0 = n; {chain} a799 }}");
        let commands = (0..15)
            .map(|j| format!("#[command] fn c{i}x{j}(n: i32) {{ f(f(f(f(f(f(f(n))))))); }}"));
        helper + &commands.collect::<String>()
    };
    assert_eq!(first(&texts(5, &unused)), None);
    let errors = |_| "unknown(); ".repeat(5000) + "(";
    problems(&texts(16, &errors));
    let items = |_| "use a; ".repeat(4000);
    problems(&texts(16, &items));
}

#[test]
fn odd_characters_are_rejected() {
    for text in [
        "",
        " ",
        "\n",
        "\r\n",
        "\r",
        "\t",
        ";",
        "#",
        "#!",
        "#![",
        "//",
        "/*",
        "///",
        "/**/",
        "/***/",
        "/*/",
        "*/",
        "//!",
        "/*!*/",
        "\"",
        "'",
        "'a",
        "'\\",
        "'\\u",
        "\\",
        "r",
        "r#",
        "r#\"",
        "b",
        "b'",
        "b\"",
        "c\"",
        "br#\"",
        "r#_",
        "r#self",
        "_",
        "0x",
        "0b2",
        "0o9",
        "1e",
        "1e+",
        "1.",
        ".1",
        "1..",
        "1_",
        "_1",
        "1.0.0",
        "0.0.0",
        "\0",
        "a\0b",
        "\u{1}",
        "\u{7f}",
        "\u{80}",
        "\u{feff}",
        "\u{feff}fn f() {}",
        "fn f() {\u{feff}}",
        "\u{202e}fn f() {}",
        "fn \u{202e}f() {}",
        "\u{200b}",
        "\u{200d}",
        "\u{2028}",
        "\u{ffff}",
        "\u{10ffff}",
        "fn f() { € }",
        "fn f() { \u{1f469}\u{200d}\u{1f680} }",
        "fn ñandú() {}",
        "const ÅNGSTRÖM: i32 = 1;",
        "const 数: i32 = x;",
        "fn f() { 数 }",
        "fn f() { a\u{301}\u{301} }",
        "const A: i32 = ２;",
        "const A: i32 = \u{661};",
        "fn f() { \"\u{0}\" }",
        "fn f() { \"\\u{110000}\" }",
        "fn f() { '\u{301}' }",
        "fn İ() { i̇() }",
        "struct İ {}",
        "struct ß { a: i32 }",
        "#!/usr/bin/env rust\nfn f() {}",
        "fn f() {}\r",
        "fn f() {}\rfn g() {",
        "fn f() { // \r\n }",
        "fn f()\r\n{\r\n€\r\n}",
        "\r\r\r€",
        "// \u{1f600}\u{1f600}\n€",
        "/* \u{1f600} */ €",
        "/* € */ x",
        "fn f() { x\u{1f600} }",
        "\"\u{1f600}\" €",
        "fn f() { \t\t€ }",
        "fn f() { \u{3000}x }",
        "fn f() { /*\u{1f600}*/ x }",
        "\u{85}x",
    ] {
        problem(text);
        problem(&command(text));
        problem(&command(&format!("{text}\n")));
        problem(&text.repeat(1000));
    }
    assert!(problem("\u{feff}fn f() {}").contains("byte order mark"));
    assert!(problem("fn f() {\0}").contains("`\\0` has no meaning here"));
    assert!(drawn("// \u{1f600}\nfn f() { /* \u{1f600} */ x; }").contains("test.rs:2:18"));
    assert!(compile("").is_ok());
}

#[test]
fn numbers_out_of_range_are_rejected() {
    for number in [
        "2147483648",
        "-2147483649",
        "- - -2147483648",
        "99999999999999999999999999",
        "1e999",
        "1e-999",
        "0x80000000",
        "0b111111111111111111111111111111111",
        "0o77777777777",
        "1e400000000000000000000",
        "524288.0",
        "600000.0",
        "1_",
        "1__0",
        "0x_",
        "1f64",
        "1i64",
        "1.0f32",
        "1usize",
        "0xFFi32",
        "1e5",
        "inf",
        "NaN",
    ] {
        problem(&format!("const A: i32 = {number};"));
        problem(&format!("const A: Fixed = {number};"));
        problem(&command(&format!("for i in {number}..={number} {{}}")));
        problem(&command(&format!(
            "match n {{ {number} => {{}} _ => {{}} }}"
        )));
        problem(&format!("#[range({number}, {number})] const A: Fixed = 1;"));
    }
    for digits in [65, 60_000] {
        let number = "9".repeat(digits);
        let expected = "the number has more than 64 digits";
        assert!(problem(&format!("const A: i32 = {number};")).contains(expected));
        assert!(problem(&format!("const A: i32 = 0x{number};")).contains(expected));
        assert!(problem(&format!("const A: Fixed = 1.{number};")).contains(expected));
        assert!(problem(&format!("const A: Fixed = 1e{number};")).contains(expected));
    }
    assert_eq!(
        problem("const A: i32 = -2147483648; const B: Fixed = -524288;"),
        ""
    );
}

#[test]
fn long_words_are_compiled_or_rejected_soon() {
    let name = "a".repeat(60_000);
    problem(&format!("fn {name}() {{}}"));
    problem(&command(&format!("{name};")));
    problem(&command(&format!("me.{name} += 1;")));
    problem(&command(&format!("{name}();")));
    problem(&command(&format!("let a = \"{name}\";")));
    problem(&command(&format!("me.team = \"{name}\";")));
    problem(&command(&format!("tell({} {{ n }});", "Aa".repeat(30_000))));
    problem(&command(&format!("/* {} */ x;", "/* */".repeat(10_000))));
    problem(&command(&format!(
        "/* {} */ x;",
        nested("/*", "", "*/", 10_000)
    )));
    problem(&command(&" x".repeat(8000)));
    problem(&"\n".repeat(60_000));
    problem(&("\n".repeat(60_000) + "€"));
    problem(&("/".repeat(60_000) + "\n"));
    problem(&"#".repeat(60_000));
    problem(&"€".repeat(20_000));
    problem(&"\0".repeat(60_000));
    problem(&format!(
        "#[command({})] fn f() {{}}",
        "clients, ".repeat(7000)
    ));
    problem(&format!("{} fn f() {{}}", "#[command]".repeat(4000)));
    problem(&format!(
        "{} const A: i32 = 1;",
        "#[range(0, 1)]".repeat(2000)
    ));
}

#[test]
fn endless_runs_end_with_their_budget() {
    let mut world = TestWorld::new();
    let me = world.add("player", 10, 10);
    for _ in 0..15 {
        world.add("player", 10, 10);
    }
    let longest = i32::MAX;
    for body in [
        format!("for i in 0..{longest} {{}}"),
        format!("for i in -{longest}..={longest} {{ me.gold += i; }}"),
        format!("for i in 0..{longest} {{ for j in 0..{longest} {{ continue; }} }}"),
        format!("for i in 0..{longest} {{ for e in near(me, 0) {{ break; }} }}"),
        format!("for i in 0..{longest} {{ nearest(me, {longest} as Fixed); }}"),
        format!("for i in 0..{longest} {{ f(i); }}"),
        "for a in near(me, 9) { for b in near(a, 9) { for c in near(b, 9) {
            for d in near(c, 9) { d.gold += 1; } } } }"
            .to_owned(),
    ] {
        let logic =
            compile(&(command(&body) + "fn f(n: i32) { for i in 0..n { f2(); } } fn f2() {}"));
        let logic = logic.unwrap_or_else(|problems| panic!("{body}: {problems:?}"));
        let begin = Instant::now();
        assert!(world.run(&logic.commands[0], me, &[1]).is_err(), "{body}");
        assert!(begin.elapsed() < TIME_MAX);
    }
}
