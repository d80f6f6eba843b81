//! Parties: a few players for an hour.

#[range(2, 64)]
const PARTY_MAX: i32 = 5;

/// Begins a party, which its founder enters as soon as it is there.
#[command(clients)]
fn gather(me: Entity) {
    require(!exists(me.party), "you are in a party");
    let party = spawn(Party { size: 0 });
    after(1, enter(me, party));
}

/// Invites another player, from anywhere.
#[command(clients)]
fn invite(me: Entity, who: Entity) {
    require(exists(me.party), "you are in no party");
    who.invited = me.party;
}

#[command(clients, atomic)]
fn follow(me: Entity) {
    let party = me.invited;
    require(party.kind == "party" && !exists(me.party), "nobody has invited you");
    require(party.size < PARTY_MAX, "the party is full");
    party.size += 1;
    me.party = party;
    me.invited = none;
}

#[command(atomic)]
fn enter(me: Entity, party: Entity) {
    require(!exists(me.party));
    party.size += 1;
    me.party = party;
}

#[command(clients, atomic)]
fn part(me: Entity) {
    require(exists(me.party), "you are in no party");
    me.party.size -= 1;
    me.party = none;
}

/// A party ends with its last member: also with those who left the world, which nobody counted.
#[command(rules)]
fn disband(me: Entity) {
    let n = count_members(me, "party");
    if n == 0 && me.size < 1 { despawn(me); }
    me.size = n;
}
