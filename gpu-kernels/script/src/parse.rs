//! Reads texts: limits first, then Rust's syntax, then the items that a script may have.

use std::ops::Range;

use proc_macro2::{LineColumn, Span, TokenStream};
use shared::predicate::nearest;
use shared::world::logic::Text;
use shared::{AttributeType, Schema};
use syn::spanned::Spanned;

use crate::diagnostic::{Diagnostic, PROBLEMS_MAX, one_of};
use crate::types::Type;

pub(crate) mod foreign;
mod limits;
mod quotes;

pub use limits::TEXT_BYTES_MAX;

/// A parsed text.
pub struct File<'a> {
    pub text: &'a Text,
    schema: &'a Schema,
    /// By line: its first byte.
    lines: Vec<usize>,
    pub items: Vec<Item>,
}

/// What a script declares.
pub enum Item {
    Const(Box<Const>),
    Function(Function),
    Notification(NotificationItem),
}

pub struct Const {
    pub name: String,
    pub span: Span,
    pub is_public: bool,
    pub ty: Type,
    pub value: syn::Expr,
    /// `#[range(low, high)]`: what a world file may set it to.
    pub range: Option<(syn::Expr, syn::Expr)>,
}

pub struct Function {
    pub name: String,
    pub span: Span,
    pub is_public: bool,
    pub doc: String,
    /// Who may give it; `None`: a helper, not a command.
    pub senders: Option<shared::Senders>,
    pub parameters: Vec<Parameter>,
    pub result: Type,
    pub body: syn::Block,
}

pub struct Parameter {
    pub name: String,
    pub span: Span,
    pub ty: Type,
    pub is_mutable: bool,
}

/// `struct Name { field: Type }`: a notification's form.
pub struct NotificationItem {
    pub name: String,
    pub span: Span,
    pub fields: Vec<(String, Type)>,
}

impl<'a> File<'a> {
    /// Parses a text for a world of this schema. Problems are added to the list.
    pub fn parse(schema: &'a Schema, text: &'a Text, problems: &mut Vec<Diagnostic>) -> File<'a> {
        let starts = text.text.match_indices('\n').map(|(i, _)| i + 1);
        let mut file = File {
            text,
            schema,
            lines: std::iter::once(0).chain(starts).collect(),
            items: vec![],
        };
        if let Err(problem) = file.read(problems) {
            problems.push(*problem);
        }
        file
    }

    fn read(&mut self, problems: &mut Vec<Diagnostic>) -> Result<(), Box<Diagnostic>> {
        let text = &self.text.text;
        if text.len() > TEXT_BYTES_MAX {
            let found = format!("the text has {} bytes", text.len());
            let label = format!("at most {TEXT_BYTES_MAX} are allowed");
            return Err(Box::new(self.at_bytes(0..0, found, label)));
        }
        if text.starts_with('\u{feff}') {
            let message = "the text begins with a byte order mark";
            let label = "save it as UTF-8 without one";
            return Err(Box::new(self.at_bytes(0..3, message, label)));
        }
        let tokens = text.parse::<TokenStream>();
        let tokens = tokens.map_err(|error| match quotes::open_end(text) {
            Some((place, message)) => self.at_bytes(place, message, ""),
            None => self.at(error.span(), "this is not Rust's syntax", ""),
        })?;
        if let Err(excess) = limits::check(tokens.clone()) {
            let problem = self.at(excess.span, excess.message, excess.label);
            return Err(Box::new(problem));
        }
        let parsed: syn::File =
            syn::parse2(tokens.clone()).map_err(|error| self.no_rust(error, tokens))?;
        if let Some(attribute) = attributes(&parsed.attrs).next() {
            problems.push(*self.unknown_attribute(attribute, "none for a whole text"));
        }
        for item in parsed.items {
            if problems.len() >= PROBLEMS_MAX {
                break;
            }
            match self.item(item) {
                Ok(item) => self.items.push(item),
                Err(problem) => problems.push(*problem),
            }
        }
        Ok(())
    }

    /// The problem at a place of the text.
    pub fn at(
        &self,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Diagnostic {
        self.at_bytes(self.range(span), message, label)
    }

    /// The problem at some bytes of the text. Only those of the first line are marked.
    fn at_bytes(
        &self,
        place: Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Diagnostic {
        let text = &self.text.text;
        let line = self.lines.partition_point(|&start| start <= place.start);
        let before = &text[self.lines[line - 1]..place.start];
        let length = text[place.clone()].lines().next().map_or(0, str::len);
        Diagnostic {
            file: self.text.file.clone(),
            span: place.start..place.start + length,
            line,
            column: before.chars().count() + 1,
            message: message.into(),
            label: label.into(),
            help: None,
        }
    }

    /// What is written at a place, if it is short.
    pub fn source(&self, span: Span) -> Option<&str> {
        let source = &self.text.text[self.range(span)];
        (!source.is_empty() && source.len() <= 40 && !source.contains('\n')).then_some(source)
    }

    /// A text that is not Rust, with what was meant if it looks like another language.
    fn no_rust(&self, error: syn::Error, tokens: TokenStream) -> Diagnostic {
        let mut diagnostic = self.error(error);
        let range = |span| self.range(span);
        let at = diagnostic.span.start;
        if let Some(found) = foreign::near(tokens, &self.text.text, at, &range) {
            diagnostic = self.at_bytes(found.place, found.message, found.label);
            diagnostic.help = Some(found.help);
        }
        diagnostic
    }

    fn error(&self, error: syn::Error) -> Diagnostic {
        let mut label = error.to_string();
        let mut place = self.range(error.span());
        if label.starts_with("unexpected end of input") && place.is_empty() {
            let end = self.text.text.trim_end().len();
            place = end..end;
        }
        // All items of Rust, of which scripts have three.
        if label.contains("one of: `fn`, `extern`") {
            label = "expected `fn`, `const` or `struct`".to_owned();
        }
        let mut diagnostic = self.at_bytes(place, "this is not Rust's syntax", label);
        if let Some((_, keyword)) = diagnostic.label.split_once("found keyword ") {
            let keyword = keyword.trim_matches('`');
            diagnostic.help = Some(format!("choose another name, or write `r#{keyword}`"));
        }
        diagnostic
    }

    fn range(&self, span: Span) -> Range<usize> {
        let (start, end) = (self.byte(span.start()), self.byte(span.end()));
        start..end.max(start)
    }

    fn byte(&self, place: LineColumn) -> usize {
        let text = &self.text.text;
        let Some(&start) = self.lines.get(place.line.saturating_sub(1)) else {
            return text.len();
        };
        let line = &text[start..];
        let within = line.char_indices().nth(place.column).map(|(i, _)| i);
        start + within.unwrap_or(line.len())
    }

    fn item(&self, item: syn::Item) -> Result<Item, Box<Diagnostic>> {
        match item {
            syn::Item::Const(item) => self.constant(item).map(|item| Item::Const(Box::new(item))),
            syn::Item::Fn(item) => self.function(item).map(Item::Function),
            syn::Item::Struct(item) => self.notification(item).map(Item::Notification),
            other => {
                let label = "expected `fn`, `const`, or `struct` for a notification";
                let message = "scripts don't have this item";
                let mut problem = self.at(other.span(), message, label);
                let help = match other {
                    syn::Item::Static(_) => Some("write `const`"),
                    syn::Item::Enum(_) => Some("an attribute of type `symbol` has named values"),
                    syn::Item::Use(_) => Some("texts see what is `pub` in other texts"),
                    syn::Item::Macro(_) => Some("write a function"),
                    _ => None,
                };
                problem.help = help.map(str::to_owned);
                Err(Box::new(problem))
            }
        }
    }

    fn constant(&self, item: syn::ItemConst) -> Result<Const, Box<Diagnostic>> {
        let mut range = None;
        for attribute in attributes(&item.attrs) {
            if !attribute.path().is_ident("range") {
                return Err(self.unknown_attribute(attribute, "`#[range(low, high)]`"));
            }
            let parse = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
            let bounds = match attribute.meta {
                syn::Meta::List(_) => attribute.parse_args_with(parse),
                _ => Ok(Default::default()),
            };
            let bounds = bounds.map_err(|error| self.error(error))?;
            let mut bounds = bounds.into_iter();
            match (bounds.next(), bounds.next(), bounds.next()) {
                (Some(low), Some(high), None) => range = Some((low, high)),
                _ => {
                    let label = "expected `#[range(low, high)]`";
                    return Err(Box::new(self.at(
                        attribute.span(),
                        "a range has two ends",
                        label,
                    )));
                }
            }
        }
        Ok(Const {
            name: name_of(&item.ident),
            span: item.ident.span(),
            is_public: is_public(&item.vis),
            ty: self.ty(&item.ty)?,
            value: *item.expr,
            range,
        })
    }

    fn function(&self, item: syn::ItemFn) -> Result<Function, Box<Diagnostic>> {
        let signature = &item.sig;
        let qualifiers = [
            signature.constness.map(|token| token.span()),
            signature.asyncness.map(|token| token.span()),
            signature.unsafety.map(|token| token.span()),
            signature.abi.as_ref().map(|abi| abi.span()),
            signature.generics.lt_token.map(|token| token.span()),
            signature.generics.where_clause.as_ref().map(|w| w.span()),
            signature.variadic.as_ref().map(|variadic| variadic.span()),
        ];
        if let Some(&span) = qualifiers.iter().flatten().next() {
            let label = "expected `fn name(parameters)` and nothing more";
            let message = "functions of scripts don't have this";
            return Err(Box::new(self.at(span, message, label)));
        }
        let mut senders = None;
        for attribute in attributes(&item.attrs) {
            if !attribute.path().is_ident("command") || senders.is_some() {
                return Err(self.unknown_attribute(attribute, "one `#[command]`"));
            }
            senders = Some(self.senders(attribute)?);
        }
        let parameters = signature.inputs.iter().map(|input| self.parameter(input));
        let result = match &signature.output {
            syn::ReturnType::Default => Type::Unit,
            syn::ReturnType::Type(_, ty) => self.ty(ty)?,
        };
        let function = Function {
            name: name_of(&signature.ident),
            span: signature.ident.span(),
            is_public: is_public(&item.vis),
            doc: doc_of(&item.attrs),
            senders,
            parameters: parameters.collect::<Result<_, _>>()?,
            result,
            body: *item.block,
        };
        match &signature.output {
            syn::ReturnType::Type(_, ty) if senders.is_some() => {
                let label = "a command gives no value";
                Err(Box::new(self.at(
                    ty.span(),
                    "this result goes nowhere",
                    label,
                )))
            }
            _ => Ok(function),
        }
    }

    fn senders(&self, attribute: &syn::Attribute) -> Result<shared::Senders, Box<Diagnostic>> {
        let mut senders = shared::Senders {
            clients: false,
            rules: false,
        };
        if matches!(attribute.meta, syn::Meta::Path(_)) {
            return Ok(senders);
        }
        let parsed = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("clients") {
                senders.clients = true;
            } else if meta.path.is_ident("rules") {
                senders.rules = true;
            } else {
                return Err(meta.error("expected `clients` or `rules`"));
            }
            Ok(())
        });
        match parsed {
            Ok(()) => Ok(senders),
            Err(error) => {
                let message = "this doesn't say who gives the command";
                let mut problem = self.at(error.span(), message, error.to_string());
                problem.help = Some("`#[command]` alone: only other commands give it".to_owned());
                Err(Box::new(problem))
            }
        }
    }

    fn parameter(&self, input: &syn::FnArg) -> Result<Parameter, Box<Diagnostic>> {
        if let syn::FnArg::Typed(input) = input
            && let syn::Pat::Ident(pattern) = &*input.pat
            && pattern.by_ref.is_none()
            && pattern.subpat.is_none()
        {
            return Ok(Parameter {
                name: name_of(&pattern.ident),
                span: pattern.ident.span(),
                ty: self.ty(&input.ty)?,
                is_mutable: pattern.mutability.is_some(),
            });
        }
        let label = "expected `name: Type`";
        Err(Box::new(self.at(
            input.span(),
            "this parameter is not allowed",
            label,
        )))
    }

    fn notification(&self, item: syn::ItemStruct) -> Result<NotificationItem, Box<Diagnostic>> {
        if let Some(attribute) = attributes(&item.attrs).next() {
            return Err(self.unknown_attribute(attribute, "none on a notification"));
        }
        if let Some(bracket) = item.generics.lt_token {
            let label = "expected `struct Name { field: Type }`";
            let message = "notifications don't have this";
            return Err(Box::new(self.at(bracket.span(), message, label)));
        }
        let fields = match &item.fields {
            syn::Fields::Named(fields) => fields.named.iter().collect(),
            syn::Fields::Unit => vec![],
            syn::Fields::Unnamed(fields) => {
                let label = "expected `struct Name { field: Type }`";
                let problem = self.at(fields.span(), "a notification's fields have names", label);
                return Err(Box::new(problem));
            }
        };
        let fields = fields.into_iter().map(|field| {
            let name = field.ident.as_ref().map(name_of).unwrap_or_default();
            Ok::<_, Box<Diagnostic>>((name, self.ty(&field.ty)?))
        });
        Ok(NotificationItem {
            name: item.ident.to_string(),
            span: item.ident.span(),
            fields: fields.collect::<Result<_, _>>()?,
        })
    }

    /// The type that is written at a place.
    pub fn ty(&self, ty: &syn::Type) -> Result<Type, Box<Diagnostic>> {
        if let syn::Type::Path(path) = ty
            && let Some(name) = path.path.get_ident()
            && let Some(ty) = Type::named(&name.to_string())
        {
            return Ok(ty);
        }
        if let Some(argument) = symbol_argument(ty) {
            return self.symbol_of(argument);
        }
        let label = "expected `i32`, `bool`, `Fixed`, `Entity`, `Symbol`, `Symbol<attribute>` or \
                     `Point`";
        let mut problem = self.at(ty.span(), "scripts don't have this type", label);
        if let syn::Type::Path(path) = ty
            && let Some(name) = path.path.get_ident()
            && let Some(own) = foreign::type_of(&name.to_string())
        {
            problem.help = Some(format!("write `{own}`"));
        }
        Err(Box::new(problem))
    }

    /// `Symbol<attribute>`, by the attribute.
    fn symbol_of(&self, argument: &syn::Type) -> Result<Type, Box<Diagnostic>> {
        let attributes = || (0..).zip(&self.schema.attributes);
        let symbols = || attributes().filter(|(_, a)| a.ty == AttributeType::Symbol);
        let name = match argument {
            syn::Type::Path(path) => path.path.get_ident().map(name_of),
            _ => None,
        };
        let name = name.unwrap_or_default();
        if let Some((column, _)) = symbols().find(|(_, a)| a.name == name) {
            return Ok(Type::SymbolOf(column));
        }
        let names: Vec<&str> = symbols().map(|(_, a)| a.name.as_str()).collect();
        let message = match attributes().any(|(_, a)| a.name == name) {
            true => format!("`{name}` is not of type symbol"),
            false => format!("this world has no attribute `{name}`"),
        };
        let mut problem = self.at(argument.span(), message, one_of(&names));
        let near = nearest(&name, names.iter().copied());
        problem.help = near.map(|near| format!("did you mean `{near}`?"));
        Err(Box::new(problem))
    }

    fn unknown_attribute(&self, attribute: &syn::Attribute, expected: &str) -> Box<Diagnostic> {
        let label = format!("expected {expected}");
        Box::new(self.at(attribute.span(), "this attribute means nothing here", label))
    }
}

/// What stands between the brackets of `Symbol<…>`.
fn symbol_argument(ty: &syn::Type) -> Option<&syn::Type> {
    let syn::Type::Path(path) = ty else {
        return None;
    };
    let mut segments = path.path.segments.iter();
    let (Some(segment), None) = (segments.next(), segments.next()) else {
        return None;
    };
    let syn::PathArguments::AngleBracketed(of) = &segment.arguments else {
        return None;
    };
    match (of.args.first(), of.args.len()) {
        (Some(syn::GenericArgument::Type(argument)), 1) if segment.ident == "Symbol" => {
            Some(argument)
        }
        _ => None,
    }
}

/// Attributes that aren't documentation or for the formatter.
fn attributes(attributes: &[syn::Attribute]) -> impl Iterator<Item = &syn::Attribute> {
    attributes.iter().filter(|a| {
        let path = a.path();
        !path.is_ident("doc")
            && !path.is_ident("allow")
            && path.segments.first().is_none_or(|s| s.ident != "rustfmt")
    })
}

fn doc_of(attributes: &[syn::Attribute]) -> String {
    let lines = attributes.iter().filter_map(|a| match &a.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Str(text),
                ..
            }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ")
}

fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

/// An identifier's text; `move` for `r#move`.
pub fn name_of(ident: &proc_macro2::Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}
