//! The items that a script may have, from those of Rust.

use shared::AttributeType;
use shared::predicate::nearest;
use shared::world::collection::declared_name;
use shared::world::symbols::KEYS;
use syn::spanned::Spanned;

use super::{Const, File, Function, Item, NotificationItem, Parameter, TestRole, foreign, name_of};
use crate::diagnostic::{Diagnostic, one_of};
use crate::types::Type;

impl File<'_> {
    pub(super) fn item(&self, item: syn::Item) -> Result<Item, Box<Diagnostic>> {
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
        let unsafety = match &signature.safety {
            syn::Safety::Default => None,
            safety => Some(safety.span()),
        };
        let qualifiers = [
            signature.constness.map(|token| token.span()),
            signature.asyncness.map(|token| token.span()),
            unsafety,
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
        let (mut senders, mut is_atomic, mut hooks) = (None, false, vec![]);
        let test = self.test_role(&item)?;
        for attribute in attributes(&item.attrs) {
            if is_of_test(attribute) {
                continue;
            }
            if attribute.path().is_ident("on") && (senders.is_none() || !hooks.is_empty()) {
                let (hook, atomic) = self.hook(attribute)?;
                hooks.push(hook);
                senders = Some(shared::Senders::default());
                is_atomic |= atomic;
                continue;
            }
            if !attribute.path().is_ident("command") || senders.is_some() {
                let expected = "one `#[command]`, or only `#[on(…)]`";
                return Err(self.unknown_attribute(attribute, expected));
            }
            let (given_by, atomic) = self.senders(attribute)?;
            (senders, is_atomic) = (Some(given_by), atomic);
        }
        self.check_hooks(&hooks)?;
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
            hooks,
            test,
            is_atomic,
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

    /// Whether `#[test]` or `#[cfg(test)]` is above a function.
    fn test_role(&self, item: &syn::ItemFn) -> Result<Option<TestRole>, Box<Diagnostic>> {
        let mut own = attributes(&item.attrs).filter(|attribute| is_of_test(attribute));
        let Some(attribute) = own.next() else {
            return Ok(None);
        };
        let others = attributes(&item.attrs)
            .filter(|other| other.span().start() != attribute.span().start());
        if let Some(other) = others.into_iter().next() {
            return Err(self.unknown_attribute(other, "nothing else on what is for tests"));
        }
        if attribute.path().is_ident("cfg") {
            let argument = attribute.parse_args::<syn::Ident>();
            return match argument {
                Ok(word) if word == "test" => Ok(Some(TestRole::Helper)),
                _ => Err(self.unknown_attribute(attribute, "`#[cfg(test)]`")),
            };
        }
        if !item.sig.inputs.is_empty() || !matches!(item.sig.output, syn::ReturnType::Default) {
            let label = "expected `fn name()`";
            let message = "a test takes nothing and gives nothing";
            return Err(Box::new(self.at(item.sig.ident.span(), message, label)));
        }
        Ok(Some(TestRole::Test))
    }

    /// What gives a command, and whether it is atomic.
    fn senders(
        &self,
        attribute: &syn::Attribute,
    ) -> Result<(shared::Senders, bool), Box<Diagnostic>> {
        let mut senders = shared::Senders {
            clients: false,
            rules: false,
        };
        let mut is_atomic = false;
        if matches!(attribute.meta, syn::Meta::Path(_)) {
            return Ok((senders, false));
        }
        let parsed = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("clients") {
                senders.clients = true;
            } else if meta.path.is_ident("rules") {
                senders.rules = true;
            } else if meta.path.is_ident("atomic") {
                is_atomic = true;
            } else {
                return Err(meta.error("expected `clients`, `rules` or `atomic`"));
            }
            Ok(())
        });
        match parsed {
            Ok(()) => Ok((senders, is_atomic)),
            Err(error) => {
                let message = "this doesn't say what gives the command";
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
        let label = "expected `i32`, `i64`, `bool`, `Fixed`, `Entity`, `Symbol`, `Symbol<attribute>`, \
                     `Text` or `Point`";
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
        if let Some((column, _)) = symbols().find(|(_, a)| declared_name(&a.name) == name) {
            return Ok(Type::SymbolOf(column));
        }
        let collections = self.schema.collections();
        let maps = || collections.iter().filter(|own| own.is_map());
        if let Some(map) = maps().find(|map| map.name == name) {
            return Ok(Type::SymbolOf(map.first | KEYS));
        }
        let names = symbols().map(|(_, a)| declared_name(&a.name));
        let mut names: Vec<&str> = names.chain(maps().map(|map| map.name)).collect();
        names.dedup();
        let message = match attributes().any(|(_, a)| declared_name(&a.name) == name) {
            true => format!("`{name}` is not of type symbol"),
            false => format!("this world has no attribute `{name}`"),
        };
        let mut problem = self.at(argument.span(), message, one_of(&names));
        let near = nearest(&name, names.iter().copied());
        problem.help = near.map(|near| format!("did you mean `{near}`?"));
        Err(Box::new(problem))
    }

    pub(super) fn unknown_attribute(
        &self,
        attribute: &syn::Attribute,
        expected: &str,
    ) -> Box<Diagnostic> {
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
pub(super) fn attributes(attributes: &[syn::Attribute]) -> impl Iterator<Item = &syn::Attribute> {
    attributes.iter().filter(|a| {
        let path = a.path();
        !path.is_ident("doc")
            && !path.is_ident("allow")
            && path.segments.first().is_none_or(|s| s.ident != "rustfmt")
    })
}

/// Whether it is `#[test]` or `#[cfg(…)]`.
fn is_of_test(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("test") || attribute.path().is_ident("cfg")
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
