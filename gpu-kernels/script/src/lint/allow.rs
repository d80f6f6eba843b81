//! Where warnings are silenced: `#[allow(name)]` before an item or a statement is for all of it,
//! `#![allow(name)]` at the beginning of a text for the whole text.

use std::ops::Range;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// The silenced warnings of a text.
#[derive(Default)]
pub struct Allowed(Vec<(String, Range<usize>)>);

impl Allowed {
    pub fn of(text: &str) -> Allowed {
        let mut allowed = Allowed::default();
        if let Ok(tokens) = text.parse::<TokenStream>() {
            let starts = text.match_indices('\n').map(|(i, _)| i + 1);
            let lines = std::iter::once(0).chain(starts).collect();
            Reader { text, lines }.read(tokens, &mut allowed);
        }
        allowed
    }

    /// Whether a warning at a byte of the text is silenced.
    pub fn silences(&self, name: &str, at: usize) -> bool {
        let mut all = self.0.iter();
        all.any(|(allowed, place)| allowed == name && place.contains(&at))
    }
}

struct Reader<'a> {
    text: &'a str,
    /// By line: its first byte.
    lines: Vec<usize>,
}

impl Reader<'_> {
    fn read(&self, tokens: TokenStream, allowed: &mut Allowed) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (i, token) in tokens.iter().enumerate() {
            if let TokenTree::Group(group) = token {
                self.read(group.stream(), allowed);
            }
            if !is_sign(token, '#') {
                continue;
            }
            let is_inner = tokens.get(i + 1).is_some_and(|next| is_sign(next, '!'));
            let Some(TokenTree::Group(group)) = tokens.get(i + 1 + usize::from(is_inner)) else {
                continue;
            };
            let place = match is_inner {
                true => 0..self.text.len(),
                false => self.byte(token)..self.end_of(&tokens[i + 2..]),
            };
            let names = names_of(group).into_iter();
            allowed.0.extend(names.map(|name| (name, place.clone())));
        }
    }

    /// Where the item or statement ends that begins with these tokens.
    fn end_of(&self, tokens: &[TokenTree]) -> usize {
        for (i, token) in tokens.iter().enumerate() {
            let ends = match (token, tokens.get(i + 1)) {
                (token, _) if is_sign(token, ';') || is_sign(token, ',') => true,
                (TokenTree::Group(group), next) if group.delimiter() == Delimiter::Brace => {
                    match next {
                        Some(TokenTree::Ident(word)) => word != "else" && word != "as",
                        Some(TokenTree::Punct(sign)) => sign.as_char() == '#',
                        Some(TokenTree::Literal(_)) | None => true,
                        Some(TokenTree::Group(_)) => false,
                    }
                }
                _ => false,
            };
            if ends && let Some(next) = tokens.get(i + 1) {
                return self.byte(next);
            }
        }
        tokens.last().map_or(0, |last| {
            let end = last.span().end();
            self.byte_at(end.line, end.column)
        })
    }

    fn byte(&self, token: &TokenTree) -> usize {
        let start = match token {
            TokenTree::Group(group) => group.span_open().start(),
            other => other.span().start(),
        };
        self.byte_at(start.line, start.column)
    }

    fn byte_at(&self, line: usize, column: usize) -> usize {
        let Some(&start) = self.lines.get(line.saturating_sub(1)) else {
            return self.text.len();
        };
        let line = &self.text[start..];
        let within = line.char_indices().nth(column).map(|(i, _)| i);
        start + within.unwrap_or(line.len())
    }
}

fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// The names between the brackets of `[allow(…)]`.
fn names_of(attribute: &Group) -> Vec<String> {
    let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
    match &tokens[..] {
        [TokenTree::Ident(word), TokenTree::Group(names)] if word == "allow" => {
            let names = names.stream().into_iter();
            names
                .filter_map(|token| match token {
                    TokenTree::Ident(name) => Some(name.to_string()),
                    _ => None,
                })
                .collect()
        }
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_silenced_in_the_statement_or_item_behind_the_attribute_and_nowhere_else() {
        let text = "#[allow(a)] fn one() { 1 } fn two() { #[allow(b, c)] let n = if x { 2 } else { 3 }; 4 }";
        let allowed = Allowed::of(text);
        let is = |name, digit| allowed.silences(name, text.find(digit).unwrap());
        assert!(is("a", '1') && !is("a", '2') && !is("b", '1'));
        assert!(is("b", '2') && is("c", '3') && !is("b", '4'));
        let whole = Allowed::of("#![allow(a)]\nfn one() { 1 }");
        assert!(whole.silences("a", 25));
    }
}
