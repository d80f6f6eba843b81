/// An attribute that atomic commands left with another value than the merge.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// slot × columns + column.
    pub key: u32,
    pub before: i32,
    pub now: i32,
    /// The place of the last command that wrote it.
    pub command: u32,
}
