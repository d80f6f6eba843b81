//! What becomes of guilds and their members.

#[test]
fn who_is_invited_enters_and_who_is_kicked_is_out() {
    let ann = spawn("player", point(50.0, 50.0));
    let bob = spawn("player", point(50.0, 50.0));
    send(found(ann, "Owls"));
    ticks(4);
    let owls = ann.guild;
    assert_eq(ann.rank, 2);
    send(recruit(ann, bob));
    ticks(1);
    send(accept(bob));
    ticks(2);
    assert_eq(count_members(owls, "guild"), 2);
    assert_eq(owls.size, 2);
    assert(bob.guild_name == "Owls");
    send(kick(bob, ann));
    ticks(2);
    assert(ann.guild == owls);
    send(kick(ann, bob));
    ticks(2);
    assert(bob.guild == none && owls.size == 1);
}

#[test]
fn a_leader_hands_the_guild_over_and_the_last_one_ends_it() {
    let ann = spawn("player", point(50.0, 50.0));
    let bob = spawn("player", point(50.0, 50.0));
    let owls = spawn(Guild { size: 2 });
    ann.guild = owls;
    ann.rank = 2;
    bob.guild = owls;
    send(leave(ann));
    ticks(1);
    assert(ann.guild == owls);
    for _n in 0..2 { send(promote(ann, bob)); ticks(1); }
    assert(ann.rank == 1 && bob.rank == 2);
    send(leave(ann));
    ticks(2);
    send(leave(bob));
    ticks(3);
    assert(!exists(owls) && bob.guild == none);
}

#[test]
fn of_two_who_enter_a_guild_with_one_place_one_does() {
    let owls = spawn(Guild { size: MEMBERS_MAX - 1 });
    let ann = spawn("player", point(50.0, 50.0));
    let bob = spawn("player", point(50.0, 50.0));
    ann.invited = owls;
    bob.invited = owls;
    send(accept(ann));
    send(accept(bob));
    ticks(2);
    assert_eq(count_members(owls, "guild"), 1);
    assert_eq(owls.size, MEMBERS_MAX);
}
