//! How many filters a text has, without reading all of it.

/// The number of filters of a predicate's text once it is multiplied out, or more where the
/// text is `false` or is none. Takes time in proportion to the text, however large the
/// product is.
pub fn filters_at_most(text: &str) -> usize {
    let mut outer: Vec<Count> = vec![];
    let mut count = Count::default();
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'|' if bytes.next_if_eq(&b'|').is_some() => count.end_alternative(),
            b'(' => outer.push(std::mem::take(&mut count)),
            b')' => {
                if let Some(mut around) = outer.pop() {
                    around.product = around.product.saturating_mul(count.total());
                    count = around;
                }
            }
            _ => {}
        }
    }
    count.total()
}

/// To behind the closing quote.
fn skip_string(bytes: &mut impl Iterator<Item = u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}

/// The filters read so far between two parentheses.
struct Count {
    /// Of alternatives that are complete.
    sum: usize,
    /// Of the last one.
    product: usize,
}

impl Count {
    fn end_alternative(&mut self) {
        self.sum = self.total();
        self.product = 1;
    }

    fn total(&self) -> usize {
        self.sum.saturating_add(self.product)
    }
}

impl Default for Count {
    fn default() -> Count {
        Count { sum: 0, product: 1 }
    }
}
