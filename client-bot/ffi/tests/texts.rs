//! Texts of attributes go through the library.

use std::ffi::{CStr, c_char};
use std::path::Path;
use std::ptr::null;
use std::time::{Duration, Instant};

use myriad_client::connection::{myriad_leave, myriad_poll};
use myriad_client::events::{EventType, MyriadEvent};
use myriad_client::input::{MyriadArgument, myriad_command_with, myriad_flush};
use myriad_client::next_event::myriad_next_event;
use myriad_client::world::{myriad_state, myriad_text, myriad_value};
use myriad_client::{MyriadClient, MyriadStatus};
use server::{Server, ServerOptions};

use crate::common::{join, sentence};

const WORLD: &str = "
    [world]
    size = [30, 30]
    capacity = 4
    tick_hz = 20

    [logic]
    folder = \"logic\"

    [[kind]]
    name = \"player\"
    attributes = [{ name = \"sign\", type = \"text\", length = 40, audience = \"state\" }]
";
const SIGNS: &str = "
#[command(clients)]
fn write(me: Entity, colour: i32, words: Text) {
    require(colour > 0);
    me.sign = words;
}
";

#[test]
fn a_text_is_given_and_read() {
    let server = serve();
    let client = join(&server);
    let argument = |text: *const c_char, number| MyriadArgument { text, number };
    let words = c"Beware of the döner";
    let given = [argument(null(), 2.0), argument(words.as_ptr(), 0.0)];
    let (mut sequence, mut request) = (7, 0);
    let asked = unsafe {
        myriad_command_with(
            client,
            c"write".as_ptr(),
            given.as_ptr(),
            given.len(),
            &mut sequence,
            &mut request,
        )
    };
    assert_eq!(asked, MyriadStatus::Ok, "{}", sentence());
    assert_eq!(sequence, 0, "it waits for its text");
    assert!(request > 0);
    let changed = until(client, |event| event.what == EventType::Changed);
    assert_eq!(text(client, changed.new_value), words.to_str().unwrap());
    let mut state = unsafe { std::mem::zeroed() };
    unsafe { myriad_state(client, &mut state) };
    let mut value = 0.0;
    let read = unsafe { myriad_value(client, state.entity, c"sign".as_ptr(), &mut value) };
    assert_eq!((read, value), (MyriadStatus::Ok, changed.new_value));

    // An empty one waits for nothing.
    let empty = [argument(null(), 1.0), argument(c"".as_ptr(), 0.0)];
    let asked = unsafe {
        myriad_command_with(
            client,
            c"write".as_ptr(),
            empty.as_ptr(),
            empty.len(),
            &mut sequence,
            &mut request,
        )
    };
    assert_eq!((asked, request), (MyriadStatus::Ok, 0), "{}", sentence());
    assert!(sequence > 0);
    let changed = until(client, |event| event.what == EventType::Changed);
    assert_eq!(changed.new_value, 0.0);
    assert_eq!(text(client, 12345.0), "", "nobody has such a text");
    myriad_leave(client);
    server.stop().unwrap();
}

fn serve() -> Server {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("texts-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("logic")).expect("a folder");
    std::fs::write(folder.join("logic/signs.rs"), SIGNS).expect("a script");
    std::fs::write(folder.join("world.toml"), WORLD).expect("a world file");
    let world = world_file::load(&folder.join("world.toml")).expect("a valid world file");
    std::fs::remove_dir_all(&folder).expect("the folder is there");
    Server::start(ServerOptions::local(world)).expect("the server starts")
}

/// Plays until an event.
fn until(client: MyriadClient, is_it: impl Fn(&MyriadEvent) -> bool) -> MyriadEvent {
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never comes");
        myriad_poll(client);
        let mut event = unsafe { std::mem::zeroed() };
        while unsafe { myriad_next_event(client, &mut event) } == MyriadStatus::Ok
            && event.what != EventType::None
        {
            assert_ne!(event.what, EventType::Lost);
            if is_it(&event) {
                return event;
            }
        }
        myriad_flush(client);
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn text(client: MyriadClient, handle: f64) -> String {
    let mut buffer = [0; 256];
    let status = unsafe { myriad_text(client, handle, buffer.as_mut_ptr(), buffer.len()) };
    assert_eq!(status, MyriadStatus::Ok, "{}", sentence());
    let text = unsafe { CStr::from_ptr(buffer.as_ptr()) };
    text.to_str().expect("UTF-8").to_owned()
}
