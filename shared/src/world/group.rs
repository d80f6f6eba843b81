//! Groups: things of which players are members, by attributes that refer to them.

/// An attribute of the players' kind that refers to a group. Who refers to the same one is a member
/// of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The kind of the members.
    pub kind: u16,
    pub column: u16,
    /// The columns that the clients of members are sent of each other, ascending.
    pub shared: Vec<u16>,
}

/// What a column of references says: who holds a thing, or to which group a member belongs. Scripts
/// can go over all that refer to an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relation {
    pub column: u16,
    /// The kind of the members; `None`: it is the holder, which all things have.
    pub kind: Option<u16>,
}

/// The number of the relation of things to their holders.
pub const HOLDERS: u8 = 0;
/// The number of the first group's.
pub const FIRST_GROUP: u8 = 1;
/// The most attributes that refer to groups.
pub const GROUPS_MAX: usize = 4;
/// The most relations of a world.
pub const RELATIONS_MAX: usize = 1 + GROUPS_MAX;
/// The most members of each group that a client is sent.
pub const MEMBERS_SENT_MAX: usize = 64;
