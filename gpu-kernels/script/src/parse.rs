//! Reads texts: limits first, then Rust's syntax, then the items that a script may have.

use std::ops::Range;

use proc_macro2::{LineColumn, Span, TokenStream, TokenTree};
use shared::world::logic::Text;
use syn::spanned::Spanned;

use crate::diagnostic::Diagnostic;
use crate::types::Type;

/// The most bytes of a text.
pub const TEXT_BYTES_MAX: usize = 64 << 10;
/// The most texts of a world.
pub const TEXTS_MAX: usize = 256;
/// The most tokens of a text.
const TOKENS_MAX: usize = 16_384;
/// How deep brackets may nest.
const NESTING_MAX: usize = 48;

/// A parsed text.
pub struct File<'a> {
    pub text: &'a Text,
    /// By line: its first byte.
    lines: Vec<usize>,
    pub items: Vec<Item>,
}

/// What a script declares.
pub enum Item {
    Const(Const),
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

/// The place of a problem: text and span.
pub struct Place {
    pub file: usize,
    pub span: Span,
}

impl<'a> File<'a> {
    /// Parses a text. Problems are added to the list.
    pub fn parse(text: &'a Text, problems: &mut Vec<Diagnostic>) -> File<'a> {
        let starts = text.text.match_indices('\n').map(|(i, _)| i + 1);
        let mut file = File {
            text,
            lines: std::iter::once(0).chain(starts).collect(),
            items: vec![],
        };
        if let Err(problem) = file.read(problems) {
            problems.push(problem);
        }
        file
    }

    fn read(&mut self, problems: &mut Vec<Diagnostic>) -> Result<(), Diagnostic> {
        let text = &self.text.text;
        if text.len() > TEXT_BYTES_MAX {
            let found = format!("the text has {} bytes", text.len());
            let label = format!("at most {TEXT_BYTES_MAX} are allowed");
            return Err(self.at(Span::call_site(), found, label));
        }
        let tokens: TokenStream = text
            .parse()
            .map_err(|error: proc_macro2::LexError| self.error(syn::Error::from(error)))?;
        let mut count = 0;
        if let Err((span, message)) = check_tokens(tokens.clone(), 0, &mut count) {
            return Err(self.at(span, message, ""));
        }
        let parsed: syn::File = syn::parse2(tokens).map_err(|error| self.error(error))?;
        for item in parsed.items {
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
        let start = span.start();
        Diagnostic {
            file: self.text.file.clone(),
            span: self.range(span),
            line: start.line.max(1),
            column: start.column + 1,
            message: message.into(),
            label: label.into(),
            help: None,
        }
    }

    fn error(&self, error: syn::Error) -> Diagnostic {
        let message = error.to_string();
        let mut diagnostic = self.at(error.span(), "this is not Rust's syntax", message);
        if diagnostic.span.is_empty() {
            let end = self.text.text.len();
            diagnostic.span = end.saturating_sub(1)..end;
            diagnostic.line = self.lines.len();
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
            syn::Item::Const(item) => self.constant(item).map(Item::Const),
            syn::Item::Fn(item) => self.function(item).map(Item::Function),
            syn::Item::Struct(item) => self.notification(item).map(Item::Notification),
            other => {
                let label = "a script has `const`, `fn`, and `struct` for notifications";
                Err(Box::new(self.at(
                    other.span(),
                    "this item is not allowed",
                    label,
                )))
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
            let bounds = attribute.parse_args_with(parse);
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
        let plain = signature.constness.is_none()
            && signature.asyncness.is_none()
            && signature.unsafety.is_none()
            && signature.abi.is_none()
            && signature.generics.params.is_empty()
            && signature.generics.where_clause.is_none()
            && signature.variadic.is_none();
        if !plain {
            let label = "expected `fn name(parameters)`, without qualifiers and generics";
            let span = signature.fn_token.span();
            return Err(Box::new(self.at(span, "this function is not plain", label)));
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
                let message = error.to_string();
                Err(Box::new(self.at(
                    error.span(),
                    "who gives this command?",
                    message,
                )))
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
        let label = "expected `i32`, `bool`, `Fixed`, `Entity`, `Symbol` or `Point`";
        Err(Box::new(self.at(
            ty.span(),
            "scripts don't have this type",
            label,
        )))
    }

    fn unknown_attribute(&self, attribute: &syn::Attribute, expected: &str) -> Box<Diagnostic> {
        let label = format!("expected {expected}");
        Box::new(self.at(attribute.span(), "this attribute means nothing here", label))
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

/// Checks the limits that keep later steps, which recurse, within their stack.
fn check_tokens(
    tokens: TokenStream,
    depth: usize,
    count: &mut usize,
) -> Result<(), (Span, String)> {
    for token in tokens {
        *count += 1;
        if *count > TOKENS_MAX {
            let message = format!("the text has more than {TOKENS_MAX} words and signs");
            return Err((token.span(), message));
        }
        if let TokenTree::Group(group) = token {
            if depth == NESTING_MAX {
                let message = format!("brackets nest more than {NESTING_MAX} deep");
                return Err((group.span(), message));
            }
            check_tokens(group.stream(), depth + 1, count)?;
        }
    }
    Ok(())
}
