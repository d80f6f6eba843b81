//! Who sees whom, beside distance.

/// What hides entities from the clients within reach; nothing by default, which costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visibility {
    /// An attribute of type i32: each bit of it hides its entity from those who lack the bit in
    /// `reveals`.
    pub hides: Option<u16>,
    /// An attribute of type i32; `None`: nobody has any bit.
    pub reveals: Option<u16>,
    /// Whether walls hide what is behind them, as [`Layers::sees`](super::layer::Layers::sees) has it;
    /// the world has the layer `blocked`.
    pub line_of_sight: bool,
}

impl Visibility {
    /// Whether nothing is hidden.
    pub fn is_plain(&self) -> bool {
        *self == Visibility::default()
    }

    /// Whether an attribute hides or reveals.
    pub fn uses(&self, column: usize) -> bool {
        let own = [self.hides, self.reveals].into_iter().flatten();
        own.map(usize::from).any(|own| own == column)
    }

    /// Whether an entity with these bits is hidden from a client with those.
    pub fn is_hidden(hides: i32, reveals: i32) -> bool {
        hides & !reveals != 0
    }
}
