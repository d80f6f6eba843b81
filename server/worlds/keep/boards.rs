//! The boards of the keep: players write on one that is near, and wipe it.

/// How near a player has to be.
const ARM: Fixed = 4.0;

/// Writes on a board; an empty text wipes it.
#[command(clients)]
fn write(me: Entity, board: Entity, words: Text) {
    require(board.kind == "board" && distance(me, board) <= ARM);
    require(board.words != words);
    board.words = words;
    board.writer = if words == "" { none } else { me };
}

#[test]
fn a_board_has_what_was_written_last() {
    let at = point(24.0, 9.5);
    let board = spawn("board", at);
    let ann = spawn("player", at);
    let far = spawn("player", point(2.0, 2.0));
    send(write(ann, board, "Beware of the guards"));
    ticks(1);
    assert_eq(board.words, "Beware of the guards");
    assert_eq(board.writer, ann);
    send(write(far, board, "I was not here"));
    ticks(1);
    assert_eq(board.words, "Beware of the guards");
    send(write(ann, board, ""));
    ticks(1);
    assert(board.words == "" && board.writer == none);
}
