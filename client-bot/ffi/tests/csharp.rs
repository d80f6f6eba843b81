//! The types and functions in `csharp/Myriad.cs` equal those of the header for C.
//!
//! `UPDATE_HEADER=1 cargo test -p client-ffi --test it header` writes the header, and then
//! `UPDATE_HEADER=1 cargo test -p client-ffi --test it csharp` what C# has of it.

use std::fmt::Write as _;
use std::path::Path;

#[test]
fn what_c_sharp_has_of_the_header_is_that_of_the_header() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &Path| std::fs::read_to_string(path).expect("a file of this crate");
    let header = Header::parse(&read(&folder.join("include/myriad.h")));
    let path = folder.join("csharp/Myriad.cs");
    let committed = read(&path);
    let types = replaced(&committed, "types", &header.types());
    let all = replaced(&types, "functions", &header.functions());
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&path, &all).expect("the file can be written");
    }
    assert_eq!(
        read(&path),
        all,
        "UPDATE_HEADER=1 cargo test -p client-ffi --test it csharp writes Myriad.cs"
    );
}

/// A text with another part between two marks, which have the part's name.
fn replaced(text: &str, part: &str, with: &str) -> String {
    let begin = format!("// Generated from myriad.h: {part}.\n");
    let end = format!("// The end of the generated {part}.");
    let (before, rest) = text.split_once(&begin).expect("the mark at the beginning");
    let (_, after) = rest.split_once(&end).expect("the mark at the end");
    let indent = before.rsplit('\n').next().unwrap_or_default();
    let mut all = format!("{before}{begin}");
    for line in with.lines() {
        let indent = if line.is_empty() { "" } else { indent };
        let _ = writeln!(all, "{indent}{line}");
    }
    all + indent + &end + after
}

/// The declarations of a header as cbindgen writes it.
#[derive(Default)]
struct Header {
    enums: Vec<Declaration>,
    structs: Vec<Declaration>,
    functions: Vec<Function>,
}

/// A name without `Myriad`, and members with their comments: (type or value, name).
struct Declaration {
    name: String,
    comment: Vec<String>,
    members: Vec<(Vec<String>, String, String)>,
}

struct Function {
    result: String,
    name: String,
    /// (type, name)
    parameters: Vec<(String, String)>,
}

impl Header {
    fn parse(text: &str) -> Header {
        let mut header = Header::default();
        let mut comment = vec![];
        let mut open: Option<Declaration> = None;
        let mut call = String::new();
        let mut has_functions = false;
        for line in text.lines().map(str::trim) {
            if let Some(words) = line.strip_prefix("//") {
                comment.push(words.trim().to_owned());
            } else if let Some(name) = line
                .strip_prefix("typedef enum Myriad")
                .or(line.strip_prefix("typedef struct Myriad"))
            {
                let name = name.trim_end_matches(" {").to_owned();
                let comment = std::mem::take(&mut comment);
                let members = vec![];
                open = Some(Declaration {
                    name,
                    comment,
                    members,
                });
            } else if line.starts_with("} Myriad") {
                let done = open.take().expect("a declaration");
                match done
                    .members
                    .iter()
                    .all(|(_, value, _)| value.parse::<i64>().is_ok())
                {
                    true => header.enums.push(done),
                    false => header.structs.push(done),
                }
            } else if let Some(open) = &mut open {
                let comment = std::mem::take(&mut comment);
                let (what, name) = match line.split_once(" = ") {
                    Some((variant, value)) => {
                        let prefix = format!("MYRIAD_{}_", screaming(&open.name));
                        let variant = variant.strip_prefix(&prefix).expect("its prefix");
                        (value.trim_end_matches(',').to_owned(), pascal(variant))
                    }
                    None => declared(line.trim_end_matches(';')),
                };
                open.members.push((comment, what, name));
            } else if line == "extern \"C\" {" {
                has_functions = true;
            } else if has_functions && !line.starts_with(['#', '}']) && !line.is_empty() {
                call += line;
                call.push(' ');
                if line.ends_with(';') {
                    header.functions.push(Function::parse(&call));
                    call.clear();
                }
                comment.clear();
            } else {
                comment.clear();
            }
        }
        assert!(header.enums.len() >= 5 && header.functions.len() >= 30);
        header
    }

    /// What a program uses.
    fn types(&self) -> String {
        let mut text = String::new();
        for one in &self.enums {
            remark(&mut text, "", &one.comment);
            let _ = writeln!(text, "public enum {}\n{{", type_name(&one.name));
            for (comment, value, name) in &one.members {
                remark(&mut text, "    ", comment);
                let _ = writeln!(text, "    {name} = {value},");
            }
            text += "}\n\n";
        }
        for one in self.structs.iter().filter(|one| is_public(&one.name)) {
            remark(&mut text, "", &one.comment);
            fields(&mut text, "public partial", one);
            text += "\n";
        }
        let event = self.structs.iter().find(|one| one.name == "Event");
        let event = event.expect("the structure of events");
        remark(&mut text, "", &event.comment);
        text += "public sealed partial class Event\n{\n";
        for (comment, what, name) in &event.members {
            if name != "value_count" {
                remark(&mut text, "    ", comment);
                let _ = writeln!(text, "    public {} {};", managed(what), pascal(name));
            }
        }
        text + "}\n"
    }

    /// What is passed to the library, and the library's functions.
    fn functions(&self) -> String {
        let mut text = String::new();
        for one in self.structs.iter().filter(|one| !is_public(&one.name)) {
            fields(&mut text, "internal", one);
            text += "\n";
            if one.name == "Event" {
                text += "internal static Myriad.Event Read(Event native)\n{\n";
                text += "    var values = new double[(int)native.ValueCount];\n";
                text += "    if (values.Length > 0)\n    {\n";
                text += "        Marshal.Copy(native.Values, values, 0, values.Length);\n    }\n";
                text += "    return new Myriad.Event\n    {\n";
                for (_, what, name) in one.members.iter().filter(|m| m.2 != "value_count") {
                    let name = pascal(name);
                    let value = match managed(what).as_str() {
                        "string" => format!("Text(native.{name})"),
                        "double[]" => "values".to_owned(),
                        _ => format!("native.{name}"),
                    };
                    let _ = writeln!(text, "        {name} = {value},");
                }
                text += "    };\n}\n\n";
            }
        }
        for function in &self.functions {
            let parameters = function.parameters.iter();
            let parameters = parameters.map(|(what, name)| parameter(what, name));
            let _ = writeln!(
                text,
                "[DllImport(Library)] internal static extern {} {}({});",
                field_type(&function.result),
                function.name,
                parameters.collect::<Vec<_>>().join(", "),
            );
        }
        text
    }
}

impl Function {
    fn parse(text: &str) -> Function {
        let (head, parameters) = text.split_once('(').expect("parameters");
        let (parameters, _) = parameters.rsplit_once(')').expect("the end of them");
        let (result, name) = declared(head);
        let parameters = parameters.split(',').map(str::trim);
        Function {
            result,
            name,
            parameters: (parameters.filter(|one| *one != "void"))
                .map(declared)
                .collect(),
        }
    }
}

fn fields(text: &mut String, visibility: &str, one: &Declaration) {
    let name = type_name(&one.name);
    let _ = writeln!(text, "[StructLayout(LayoutKind.Sequential)]");
    let _ = writeln!(text, "{visibility} struct {name}\n{{");
    for (comment, what, name) in &one.members {
        if visibility.starts_with("public") {
            remark(text, "    ", comment);
        }
        let own = field_type(what);
        let marshal = match own.as_str() {
            "bool" => "[MarshalAs(UnmanagedType.I1)] ",
            _ => "",
        };
        let names = match name.strip_suffix("[3]") {
            // Three numbers.
            Some("position") => "X, Y, Z".to_owned(),
            Some(name) => ["X", "Y", "Z"].map(|axis| pascal(name) + axis).join(", "),
            None => pascal(name),
        };
        let _ = writeln!(text, "    {marshal}public {own} {names};");
    }
    *text += "}\n";
}

fn remark(text: &mut String, indent: &str, comment: &[String]) {
    for line in comment {
        let _ = writeln!(text, "{indent}/// {line}");
    }
}

/// A type and the name behind it; asterisks belong to the type.
fn declared(text: &str) -> (String, String) {
    let at = text.rfind(['*', ' ']).expect("a type and a name") + 1;
    (text[..at].trim().to_owned(), text[at..].to_owned())
}

/// Whether a program has the structure as it is passed.
fn is_public(name: &str) -> bool {
    matches!(
        name,
        "Cell" | "Entity" | "Plane" | "Ranked" | "Shown" | "State" | "Thing"
    )
}

fn type_name(name: &str) -> &str {
    match name {
        // The namespace or the system has these.
        "Type" => "ValueType",
        "Talk" => "TalkType",
        name => name,
    }
}

/// The type of a field, or of a result.
fn field_type(what: &str) -> String {
    if what.ends_with('*') {
        return "IntPtr".to_owned();
    }
    match what {
        "uint64_t" | "MyriadClient" => "ulong",
        "int64_t" => "long",
        "uint32_t" => "uint",
        "int32_t" => "int",
        "uint16_t" => "ushort",
        "size_t" => "UIntPtr",
        "double" => "double",
        "bool" => "bool",
        what => {
            let name = what
                .trim_start_matches("enum ")
                .trim_start_matches("struct ");
            type_name(name.strip_prefix("Myriad").expect("a type of the header"))
        }
    }
    .to_owned()
}

/// The type of a field of a class.
fn managed(what: &str) -> String {
    match what {
        "const char *" => "string".to_owned(),
        "const double *" => "double[]".to_owned(),
        what => field_type(what),
    }
}

fn parameter(what: &str, name: &str) -> String {
    let pointed = what.strip_suffix('*').map(str::trim);
    let ty = match (pointed, name) {
        (None, _) => field_type(what),
        // These may be null.
        (Some(_), "follows") => "IntPtr".to_owned(),
        (Some("const char"), _) => "byte[]".to_owned(),
        (Some("const double"), _) => "double[]".to_owned(),
        (Some("char" | "uint8_t"), _) => "[Out] byte[]".to_owned(),
        (Some("double"), "position") => "[Out] double[]".to_owned(),
        (Some(one), "shown" | "members") => format!("[Out] {}[]", field_type(one)),
        (Some(one), "arguments") => {
            format!("{}[]", field_type(one.trim_start_matches("const ")))
        }
        (Some(one), _) => match one.strip_prefix("const ") {
            Some(one) => format!("ref {}", field_type(one)),
            None => format!("out {}", field_type(one)),
        },
    };
    // A keyword of C#.
    let name = if name == "event" { "happened" } else { name };
    format!("{ty} {name}")
}

/// `is_own` and `IS_OWN` become `IsOwn`.
fn pascal(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(1.min(word.len()));
        first.to_uppercase() + &rest.to_lowercase()
    });
    words.collect()
}

/// `EventType` becomes `EVENT_TYPE`.
fn screaming(name: &str) -> String {
    let mut all = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !all.is_empty() {
            all.push('_');
        }
        all.extend(letter.to_uppercase());
    }
    all
}
