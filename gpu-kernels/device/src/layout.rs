//! Structures that host and kernels share, declared once.
//!
//! [`device_struct!`](crate::device_struct) declares one. From it follow the Rust
//! structure, the buffers that it points to, where they lie, and its declaration in
//! C++, which [`Header`] writes. The header is committed beside the kernels; a test
//! compares it with what the declarations say, and each module carries
//! [`Header::hash`], so kernels that were built for another layout are refused.

use std::fmt::Write;
use std::marker::PhantomData;

use crate::Plain;

/// A type that a field may have: how C++ declares a name of it.
pub trait Field {
    fn declare(name: &str) -> String;
}

/// The address of values on the device.
#[repr(transparent)]
pub struct Pointer<T>(pub u64, PhantomData<fn() -> T>);

/// The address of values that kernels only read.
#[repr(transparent)]
pub struct ConstPointer<T>(pub u64, PhantomData<fn() -> T>);

macro_rules! pointers {
    ($($pointer:ident: $declaration:literal),*) => { $(
        impl<T> $pointer<T> {
            pub const NULL: $pointer<T> = $pointer(0, PhantomData);

            pub const fn new(address: u64) -> $pointer<T> {
                $pointer(address, PhantomData)
            }

            /// The same address, of values of another type.
            pub const fn cast<U>(self) -> $pointer<U> {
                $pointer(self.0, PhantomData)
            }

            /// The address of the n-th value from here.
            pub const fn at(self, n: u64) -> $pointer<T> {
                $pointer(self.0 + n * size_of::<T>() as u64, PhantomData)
            }
        }

        impl<T> Clone for $pointer<T> {
            fn clone(&self) -> $pointer<T> {
                *self
            }
        }

        impl<T> Copy for $pointer<T> {}

        impl<T> Default for $pointer<T> {
            fn default() -> $pointer<T> {
                $pointer::NULL
            }
        }

        impl<T> std::fmt::Debug for $pointer<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }

        impl<T: Field> Field for $pointer<T> {
            fn declare(name: &str) -> String {
                format!($declaration, T::declare(&format!("*{name}")))
            }
        }

        // SAFETY: an address is a number, and following it is the device's business.
        #[allow(unsafe_code)]
        unsafe impl<T: 'static> Plain for $pointer<T> {}
    )* };
}

pointers!(Pointer: "{}", ConstPointer: "const {}");

impl<T> From<Pointer<T>> for ConstPointer<T> {
    fn from(pointer: Pointer<T>) -> ConstPointer<T> {
        ConstPointer::new(pointer.0)
    }
}

impl<T> ConstPointer<T> {
    /// The same address, for the host to write to.
    pub const fn writable(self) -> Pointer<T> {
        Pointer::new(self.0)
    }
}

macro_rules! numbers {
    ($($number:ty),*) => { $(
        impl Field for $number {
            fn declare(name: &str) -> String {
                format!("{} {name}", stringify!($number))
            }
        }
    )* };
}

numbers!(u8, u16, u32, u64, i32, i64);

impl<T: Field, const N: usize> Field for [T; N] {
    fn declare(name: &str) -> String {
        T::declare(&format!("{name}[{N}]"))
    }
}

/// CUDA's `int2`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct Int2 {
    pub x: i32,
    pub y: i32,
}

/// CUDA's `uint2`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(8))]
pub struct UInt2 {
    pub x: u32,
    pub y: u32,
}

crate::plain!(Int2 { x: i32, y: i32 });
crate::plain!(UInt2 { x: u32, y: u32 });

impl Field for Int2 {
    fn declare(name: &str) -> String {
        format!("int2 {name}")
    }
}

impl Field for UInt2 {
    fn declare(name: &str) -> String {
        format!("uint2 {name}")
    }
}

/// A structure as C++ declares it.
#[derive(Clone, Debug)]
pub struct Structure {
    pub name: &'static str,
    pub docs: &'static str,
    pub fields: Vec<Member>,
    pub bytes: usize,
    pub align: usize,
}

/// A field of it.
#[derive(Clone, Debug)]
pub struct Member {
    pub name: &'static str,
    pub docs: &'static str,
    pub declaration: String,
    pub offset: usize,
}

impl Structure {
    /// The offset of a field in bytes.
    ///
    /// # Panics
    /// Panics if there is no such field.
    pub fn offset(&self, field: &str) -> usize {
        let found = self.fields.iter().find(|member| member.name == field);
        let Some(found) = found else {
            panic!("{} has no field {field}", self.name);
        };
        found.offset
    }
}

/// Structures that [`Header`] can write.
pub trait Described {
    fn structure() -> Structure;
}

/// A C++ header in the making.
pub struct Header {
    text: String,
    namespace: Option<&'static str>,
}

impl Header {
    /// `about` is a sentence about the header's content.
    pub fn new(about: &str) -> Header {
        Header {
            text: format!(
                "// {about}\n// Written from the declarations in Rust: `cargo test layout` says how to renew it.\n\
                 #pragma once\n#include \"lib/types.cuh\"\n"
            ),
            namespace: None,
        }
    }

    /// Another header that this one builds on.
    pub fn include(mut self, path: &str) -> Header {
        let _ = writeln!(self.text, "#include \"{path}\"");
        self
    }

    /// All that follows is in a namespace.
    pub fn namespace(mut self, name: &'static str) -> Header {
        let _ = writeln!(self.text, "namespace {name} {{");
        self.namespace = Some(name);
        self
    }

    /// A constant.
    pub fn constant(mut self, name: &str, value: u32) -> Header {
        let _ = writeln!(self.text, "constexpr u32 {name} = {value};");
        self
    }

    /// An enumeration with these names and numbers.
    pub fn enumeration(
        mut self,
        name: &str,
        values: impl IntoIterator<Item = (String, u32)>,
    ) -> Header {
        let _ = writeln!(self.text, "enum {name} : u32 {{");
        for (value, number) in values {
            let _ = writeln!(self.text, "    {value} = {number},");
        }
        self.text.push_str("};\n");
        self
    }

    /// A structure, after those that it has as fields.
    pub fn structure<T: Described>(mut self) -> Header {
        self.write(T::structure());
        self
    }

    // Apart from the above, which is compiled for each structure.
    fn write(&mut self, structure: Structure) {
        let Structure {
            name,
            docs,
            fields,
            bytes,
            align,
        } = structure;
        let out = &mut self.text;
        out.push('\n');
        for line in docs.lines() {
            let _ = writeln!(out, "//{line}");
        }
        let _ = writeln!(out, "struct alignas({align}) {name} {{");
        for field in &fields {
            for line in field.docs.lines() {
                let _ = writeln!(out, "    //{line}");
            }
            let _ = writeln!(out, "    {};", field.declaration);
        }
        let _ = writeln!(
            out,
            "}};\nstatic_assert(sizeof({name}) == {bytes}, \"as in Rust\");"
        );
        for some in fields.chunks(ASSERTIONS_PER_LINE) {
            let equal =
                |field: &Member| format!("offsetof({name}, {}) == {}", field.name, field.offset);
            let all: Vec<String> = some.iter().map(equal).collect();
            let _ = writeln!(out, "static_assert({}, \"as in Rust\");", all.join(" && "));
        }
    }

    /// The whole text, with its own hash as `hash_name`.
    pub fn finish(mut self, hash_name: &str) -> String {
        if let Some(name) = self.namespace {
            let _ = writeln!(self.text, "}}  // namespace {name}");
        }
        let hash = Header::hash(&self.text);
        format!(
            "{}\nconstexpr u64 {hash_name} = {hash:#018x}ull;\n",
            self.text
        )
    }

    /// The hash of a layout, which kernels carry: FNV-1a over the header's text
    /// before it.
    pub fn hash(text: &str) -> u64 {
        let declarations = text.split("\nconstexpr u64 ").next().unwrap_or(text);
        declarations
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            })
    }
}

/// Declares a structure that kernels are given, and the buffers that it owns.
///
/// `name: Type = count;` declares that the pointer `name` owns a buffer of so many values.
/// `count` may use the sizes that the head names. `, zeroed` or `, ones` after it declares
/// how all bits of the buffer begin; else it is written before it is read.
///
/// ```
/// device::device_struct! {
///     /// Sums by row.
///     pub struct Sums(s: u64) {
///         /// How many rows there are.
///         rows: u32;
///         columns: u32;
///         /// By row.
///         sums: Pointer<u64> = *s, zeroed;
///     }
/// }
/// # use device::layout::Pointer;
/// let mut plan = device::Plan::default();
/// let group = plan.add(Sums::buffers(&1000));
/// assert_eq!(plan.bytes(), 8192);
/// let mut sums = Sums::default();
/// sums.place(plan.places(4096, &group));
/// assert_eq!(sums.sums.0, 4096);
/// ```
#[macro_export]
macro_rules! device_struct {
    (
        $(#[doc = $docs:literal])*
        pub struct $name:ident $(($sizes:ident : $Sizes:ty))? $(align($align:literal))? {
            $(
                $(#[doc = $field_docs:literal])*
                $field:ident : $type:ty $(= $count:expr $(, $fill:ident)?)? ;
            )*
        }
    ) => {
        $(#[doc = $docs])*
        #[derive(Clone, Copy, Debug)]
        #[repr(C $(, align($align))?)]
        pub struct $name {
            $( $(#[doc = $field_docs])* pub $field: $type, )*
        }

        $crate::plain!($name { $( $field: $type ),* });

        /// All numbers are 0, and all pointers null.
        impl Default for $name {
            fn default() -> $name {
                $crate::plain::zeroed()
            }
        }

        impl $crate::layout::Field for $name {
            fn declare(name: &str) -> String {
                format!("{} {name}", stringify!($name))
            }
        }

        impl $crate::layout::Described for $name {
            fn structure() -> $crate::layout::Structure {
                $crate::layout::Structure {
                    name: stringify!($name),
                    docs: concat!($($docs, "\n"),*),
                    fields: vec![
                        $( $crate::layout::Member {
                            name: stringify!($field),
                            docs: concat!($($field_docs, "\n"),*),
                            declaration: <$type as $crate::layout::Field>::declare(stringify!($field)),
                            offset: std::mem::offset_of!($name, $field),
                        } ),*
                    ],
                    bytes: size_of::<$name>(),
                    align: align_of::<$name>(),
                }
            }
        }

        $crate::device_struct!(@buffers $name $(, $sizes: $Sizes)? {
            $( $field: $type $(= $count $(, $fill)?)? ; )*
        });
    };

    // Without sizes there are no buffers.
    (@buffers $name:ident { $($rest:tt)* }) => {};
    (@buffers $name:ident, $sizes:ident : $Sizes:ty {
        $( $field:ident : $type:ty $(= $count:expr $(, $fill:ident)?)? ; )*
    }) => {
        impl $name {
            /// The buffers that its pointers own.
            pub fn buffers($sizes: &$Sizes) -> Vec<$crate::Buffer> {
                let mut buffers = vec![];
                $( $(
                    let count: u64 = $count;
                    buffers.push($crate::Buffer {
                        name: stringify!($field),
                        bytes: count * <$type>::VALUE_BYTES,
                        fill: $crate::device_struct!(@fill $($fill)?),
                    });
                )? )*
                buffers
            }

            /// Points at these buffers, whose addresses `place` gives by name.
            pub fn place(&mut self, place: impl Fn(&str) -> u64) {
                $( $( let _ = |$sizes: &$Sizes| -> u64 { $count };
                      self.$field = <$type>::new(place(stringify!($field))); )? )*
            }
        }
    };

    (@fill) => { None };
    (@fill zeroed) => { Some(0) };
    (@fill ones) => { Some(0xff) };
}

/// Describes how C++ lays out a structure that Rust declares elsewhere, in the order of its
/// fields; a nested field gets a name of its own: `slot: u32 = entity.slot;`.
#[macro_export]
macro_rules! describe_struct {
    (
        $(#[doc = $docs:literal])*
        $name:ident { $( $field:ident : $type:ty = $path:ident $(. $inner:ident)*; )* }
    ) => {
        impl $crate::layout::Field for $name {
            fn declare(name: &str) -> String {
                format!("{} {name}", stringify!($name))
            }
        }

        impl $crate::layout::Described for $name {
            fn structure() -> $crate::layout::Structure {
                const {
                    assert!(size_of::<$name>() == 0 $( + size_of::<$type>() )*, "a field is missing");
                }
                $crate::layout::Structure {
                    name: stringify!($name),
                    docs: concat!($($docs, "\n"),*),
                    fields: vec![
                        $( $crate::layout::Member {
                            name: stringify!($field),
                            docs: "",
                            declaration: <$type as $crate::layout::Field>::declare(stringify!($field)),
                            offset: std::mem::offset_of!($name, $path $(. $inner)*),
                        } ),*
                    ],
                    bytes: size_of::<$name>(),
                    align: align_of::<$name>(),
                }
            }
        }
    };
}

impl<T> Pointer<T> {
    /// Bytes of each value that it points to.
    pub const VALUE_BYTES: u64 = size_of::<T>() as u64;
}

impl<T> ConstPointer<T> {
    /// Bytes of each value that it points to.
    pub const VALUE_BYTES: u64 = size_of::<T>() as u64;
}

/// So that lines of a header stay readable.
const ASSERTIONS_PER_LINE: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    device_struct! {
        /// One.
        pub struct One {
            a: u64;
            /// A table.
            b: [[u32; 3]; 2];
            c: Pointer<Int2>;
        }
    }

    mod swapped {
        use super::super::*;

        device_struct! {
            /// One.
            pub struct One {
                c: Pointer<Int2>;
                /// A table.
                b: [[u32; 3]; 2];
                a: u64;
            }
        }
    }

    #[test]
    fn a_structure_is_declared_as_in_c() {
        let text = Header::new("Test.").structure::<One>().finish("TEST_HASH");
        assert!(text.contains("// One.\nstruct alignas(8) One {\n    u64 a;\n"));
        assert!(text.contains("    // A table.\n    u32 b[2][3];\n    int2 *c;\n};"));
        assert!(text.contains("&& offsetof(One, c) == 32, \"as in Rust\");"));
        assert_eq!(One::structure().offset("c"), 32);
    }

    #[test]
    fn two_fields_of_one_size_that_change_places_change_the_hash() {
        let one = Header::new("Test.").structure::<One>().finish("H");
        let other = Header::new("Test.").structure::<swapped::One>().finish("H");
        assert_eq!(size_of::<One>(), size_of::<swapped::One>());
        assert_ne!(Header::hash(&one), Header::hash(&other));
    }

    #[test]
    fn the_hash_of_a_finished_header_is_the_one_it_names() {
        let text = Header::new("Test.").structure::<One>().finish("TEST_HASH");
        let hash = format!("TEST_HASH = {:#018x}ull", Header::hash(&text));
        assert!(text.contains(&hash));
    }
}
