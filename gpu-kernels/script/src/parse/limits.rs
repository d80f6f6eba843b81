//! Limits on texts. They keep the steps after them, which recurse, within their stack, and
//! their time in proportion to the text.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};

/// The most bytes of a text.
pub const TEXT_BYTES_MAX: usize = 64 << 10;
/// The most words and signs of a text.
const TOKENS_MAX: usize = 16_384;
/// How deep brackets may nest.
const NESTING_MAX: usize = 48;
/// The most words and signs from the beginning of a statement to any place in it, with
/// those of the statements around it. No tree of syntax is deeper than this.
const STATEMENT_TOKENS_MAX: usize = 1024;
/// The most characters of a number. The time to read one grows with its square.
const NUMBER_LENGTH_MAX: usize = 64;

/// What is beyond a limit, or can't be checked later.
pub struct Excess {
    pub span: Span,
    pub message: String,
    pub label: String,
}

/// Checks a text's tokens.
pub fn check(tokens: TokenStream) -> Result<(), Excess> {
    check_group(tokens, 0, 0, &mut 0)
}

/// Checks what stands in one pair of brackets. `around` tokens of the statements around it
/// stand before it.
fn check_group(
    tokens: TokenStream,
    depth: usize,
    around: usize,
    count: &mut usize,
) -> Result<(), Excess> {
    let mut tokens = tokens.into_iter().peekable();
    let mut statement = around;
    let mut is_attribute = false;
    while let Some(token) = tokens.next() {
        *count += 1;
        statement += 1;
        if *count > TOKENS_MAX {
            let message = format!("the text has more than {TOKENS_MAX} words and signs");
            return excess(token.span(), message, "split it into several texts");
        }
        if statement > STATEMENT_TOKENS_MAX {
            let message =
                format!("the statement has more than {STATEMENT_TOKENS_MAX} words and signs");
            return excess(token.span(), message, "split it before this");
        }
        let was_attribute = std::mem::take(&mut is_attribute);
        match token {
            TokenTree::Group(group) => {
                if depth == NESTING_MAX {
                    let message = format!("brackets nest more than {NESTING_MAX} deep");
                    return excess(group.span_open(), message, "");
                }
                if was_attribute && depth > 0 {
                    check_attribute(&group)?;
                }
                check_group(group.stream(), depth + 1, statement, count)?;
                if was_attribute {
                    statement -= 2;
                }
                if group.delimiter() == Delimiter::Brace && begins_statement(tokens.peek()) {
                    statement = around;
                }
            }
            TokenTree::Punct(sign) => match (sign.as_char(), tokens.peek()) {
                (';', _) => statement = around,
                // The pattern of an arm of a `match` ends here.
                ('=', Some(TokenTree::Punct(next))) if next.as_char() == '>' => statement = around,
                ('#', _) => is_attribute = true,
                _ => {}
            },
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let is_number = text.starts_with(|c: char| c.is_ascii_digit());
                if is_number && text.len() > NUMBER_LENGTH_MAX {
                    let message = format!("the number has more than {NUMBER_LENGTH_MAX} digits");
                    return excess(literal.span(), message, "");
                }
            }
            TokenTree::Ident(_) => {}
        }
    }
    Ok(())
}

/// Whether what follows `}` can't belong to the statement before it.
fn begins_statement(next: Option<&TokenTree>) -> bool {
    match next {
        Some(TokenTree::Ident(word)) => word != "else" && word != "as",
        Some(TokenTree::Literal(_)) => true,
        Some(TokenTree::Punct(sign)) => sign.as_char() == '#',
        _ => false,
    }
}

/// Inside of items, attributes would be ignored, so there may be none but documentation and
/// those for tools.
fn check_attribute(group: &Group) -> Result<(), Excess> {
    let is_idle = match group.stream().into_iter().next() {
        Some(TokenTree::Ident(name)) => ["doc", "allow", "rustfmt"].iter().any(|n| name == n),
        _ => false,
    };
    if group.delimiter() != Delimiter::Bracket || is_idle {
        return Ok(());
    }
    let message = "this attribute means nothing here".to_owned();
    excess(group.span(), message, "only items have attributes")
}

fn excess(span: Span, message: String, label: &str) -> Result<(), Excess> {
    let label = label.to_owned();
    Err(Excess {
        span,
        message,
        label,
    })
}
