//! Letters: things with a text.

/// Takes a sheet of paper, of which one has at most five.
#[command(clients)]
fn take_paper(me: Entity) {
    require(count_held(me, "letter") < 5, "you have paper enough");
    spawn(Letter { holder: me });
}

/// Writes a letter, once.
#[command(clients)]
fn write(me: Entity, letter: Entity, words: Text) {
    require(letter.kind == "letter" && letter.holder == me, "it is not yours");
    require(letter.words == "", "it is written");
    letter.words = words;
}

/// Gives a thing to another player.
#[command(clients, atomic)]
fn hand_over(me: Entity, to: Entity, it: Entity) {
    require(to.kind == "player" && it.holder == me, "it is not yours");
    it.holder = to;
}

#[test]
fn a_letter_is_written_once_and_read_by_who_has_it() {
    let ann = spawn("player", point(20.0, 30.0));
    let bob = spawn("player", point(20.0, 30.0));
    let letter = spawn(Letter { holder: ann });
    send(write(bob, letter, "Not mine"));
    ticks(1);
    assert(letter.words == "");
    send(write(ann, letter, "Dear Bob"));
    ticks(1);
    send(write(ann, letter, "Dear Cid"));
    send(hand_over(ann, bob, letter));
    ticks(1);
    assert(letter.words == "Dear Bob" && letter.holder == bob);
}

#[test]
fn paper_is_for_five_letters() {
    let ann = spawn("player", point(20.0, 30.0));
    for _n in 0..7 {
        send(take_paper(ann));
        ticks(2);
    }
    assert_eq(count_held(ann, "letter"), 5);
}
