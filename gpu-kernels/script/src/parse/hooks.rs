//! `#[on(…)]`: when the world gives a command by itself.

use shared::Occasion;
use shared::predicate::nearest;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{Ident, LitStr, Token};

use super::{File, HookItem};
use crate::diagnostic::{Diagnostic, one_of};

/// What stands between the brackets.
struct Clause {
    occasion: Ident,
    zone: Option<LitStr>,
    kind: Option<LitStr>,
    is_atomic: bool,
}

const OCCASIONS: [&str; 7] = ["join", "leave", "birth", "fall", "enter", "exit", "reload"];

impl File<'_> {
    /// The occasion, and whether the command is atomic.
    pub(super) fn hook(
        &self,
        attribute: &syn::Attribute,
    ) -> Result<(HookItem, bool), Box<Diagnostic>> {
        let clause = attribute.parse_args_with(clause);
        let clause = clause.map_err(|error| {
            let message = "this doesn't say when the command is given";
            let mut problem = self.at(error.span(), message, error.to_string());
            problem.help = Some("write `#[on(fall)]` or `#[on(enter, \"zone\")]`".to_owned());
            problem
        })?;
        let name = clause.occasion.to_string();
        let occasion = match &name[..] {
            "join" => Occasion::Join,
            "leave" => Occasion::Leave,
            "birth" => Occasion::Birth,
            "fall" => Occasion::Fall,
            "reload" => Occasion::Reload,
            "enter" => Occasion::Enter(self.zone(&clause)?),
            "exit" => Occasion::Exit(self.zone(&clause)?),
            _ => {
                let message = format!("there is no occasion `{name}`");
                let mut problem = self.at(clause.occasion.span(), message, one_of(&OCCASIONS));
                let near = nearest(&name, OCCASIONS.iter().copied());
                problem.help = near.map(|near| format!("did you mean `{near}`?"));
                return Err(Box::new(problem));
            }
        };
        let has_zone = matches!(occasion, Occasion::Enter(_) | Occasion::Exit(_));
        if let Some(zone) = clause.zone.as_ref().filter(|_| !has_zone) {
            let message = format!("`{name}` has nothing to do with zones");
            return Err(Box::new(self.at(zone.span(), message, "leave this out")));
        }
        let kind = match &clause.kind {
            Some(kind) if occasion == Occasion::Reload => {
                let message = "scripts are reloaded for all kinds";
                return Err(Box::new(self.at(kind.span(), message, "leave this out")));
            }
            Some(kind) => {
                let kinds = self.schema.kinds.iter().map(|kind| kind.name.as_str());
                Some(self.number("kind", kind, &kinds.collect::<Vec<_>>())?)
            }
            None => None,
        };
        let hook = HookItem {
            occasion,
            kind,
            span: attribute.span(),
        };
        Ok((hook, clause.is_atomic))
    }

    /// Refuses a hook that gives a command whenever another one of it does.
    pub(super) fn check_hooks(&self, hooks: &[HookItem]) -> Result<(), Box<Diagnostic>> {
        for (i, hook) in hooks.iter().enumerate() {
            let is_same = |other: &&HookItem| {
                let kinds = other.kind.is_none() || hook.kind.is_none() || other.kind == hook.kind;
                other.occasion == hook.occasion && kinds
            };
            if let Some(first) = hooks[..i].iter().find(is_same) {
                let line = self.at(first.span, "", "").line;
                let message = "this would give the command twice";
                let label = format!("line {line} has the same occasion for these entities");
                return Err(Box::new(self.at(hook.span, message, label)));
            }
        }
        Ok(())
    }

    fn zone(&self, clause: &Clause) -> Result<u16, Box<Diagnostic>> {
        let zones: Vec<&str> = (self.schema.zones.iter())
            .map(|zone| zone.name.as_str())
            .collect();
        match &clause.zone {
            Some(zone) => self.number("zone", zone, &zones),
            None => {
                let name = &clause.occasion;
                let message = format!("`{name}` needs the zone whose border is watched");
                let label = format!("expected `#[on({name}, \"zone\")]`");
                Err(Box::new(self.at(name.span(), message, label)))
            }
        }
    }

    /// The number of a name of the world file.
    fn number(&self, what: &str, name: &LitStr, known: &[&str]) -> Result<u16, Box<Diagnostic>> {
        let wanted = name.value();
        if let Some((number, _)) = (0..).zip(known).find(|(_, known)| **known == wanted) {
            return Ok(number);
        }
        let message = format!("this world has no {what} {wanted:?}");
        let label = match known {
            [] => format!("expected a `[[{what}]]` of the world file, which has none"),
            _ => one_of(known),
        };
        let mut problem = self.at(name.span(), message, label);
        let near = nearest(&wanted, known.iter().copied());
        problem.help = near.map(|near| format!("did you mean {near:?}?"));
        Err(Box::new(problem))
    }
}

fn clause(input: ParseStream<'_>) -> syn::Result<Clause> {
    let mut clause = Clause {
        occasion: input.parse()?,
        zone: None,
        kind: None,
        is_atomic: false,
    };
    while !input.is_empty() {
        input.parse::<Token![,]>()?;
        if input.is_empty() {
            break;
        }
        if input.peek(LitStr) && clause.zone.is_none() {
            clause.zone = Some(input.parse()?);
            continue;
        }
        let key: Ident = input.parse()?;
        if key == "atomic" {
            clause.is_atomic = true;
        } else if key == "kind" && clause.kind.is_none() {
            input.parse::<Token![=]>()?;
            clause.kind = Some(input.parse()?);
        } else {
            let expected = "expected a zone's name, `kind = \"…\"` or `atomic`";
            return Err(syn::Error::new(key.span(), expected));
        }
    }
    Ok(clause)
}
