//! What becomes of parties and their members.

#[test]
fn a_party_has_its_members_and_ends_without_them() {
    let ann = spawn("player", point(50.0, 50.0));
    let bob = spawn("player", point(300.0, 50.0));
    send(gather(ann));
    ticks(3);
    let party = ann.party;
    send(invite(ann, bob));
    ticks(1);
    send(follow(bob));
    ticks(2);
    assert_eq(count_members(party, "party"), 2);
    send(part(bob));
    send(part(ann));
    ticks(60);
    assert(!exists(party));
}
