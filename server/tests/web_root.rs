//! A page of one's own: its files come from a folder, nothing else does, and pages of other
//! origins may ask where to connect if they are allowed to.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;

use server::Server;
use server::host::WebServing;

use crate::common;
use crate::common::folder::TestFolder;
use crate::common::{DEADLINE, PLAIN, start_with};

/// An answer: its status, its head in lower case, its body.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn has(&self, header: &str) -> bool {
        self.head.lines().any(|line| line == header)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn ask(server: &Server, request: &str) -> Answer {
    let address = server.page().expect("a page");
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(DEADLINE)).expect("a time-out");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = vec![];
    stream.read_to_end(&mut answer).expect("an answer");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.expect("a head");
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    let status = head.split(' ').nth(1).expect("a status");
    Answer {
        status: status.parse().expect("a number"),
        body: answer.split_off(end + 4),
        head,
    }
}

fn get(server: &Server, path: &str) -> Answer {
    ask(server, &format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"))
}

fn from(server: &Server, method: &str, path: &str, origin: &str) -> Answer {
    let head = format!("{method} {path} HTTP/1.1\r\nHost: a\r\nOrigin: {origin}\r\n\r\n");
    ask(server, &head)
}

fn serve(change: impl FnOnce(&mut WebServing)) -> Server {
    let mut web = WebServing::at("127.0.0.1:0".parse().expect("an address"));
    change(&mut web);
    start_with(PLAIN, |options| options.web = Some(web))
}

#[tokio::test]
async fn the_files_of_the_folder_come_before_those_of_the_built_in_page() {
    let folder = TestFolder::new("web-root");
    fs::create_dir(folder.join("art")).unwrap();
    fs::write(folder.join("index.html"), "<p>mine</p>").unwrap();
    fs::write(folder.join("connect.json"), "mine").unwrap();
    fs::create_dir(folder.join("dashboard")).unwrap();
    fs::write(folder.join("dashboard/index.html"), "mine").unwrap();
    fs::write(folder.join("empty.js"), "").unwrap();
    fs::write(folder.join("art/two words.png"), [0x89, 0, 0xff]).unwrap();
    fs::write(folder.join("art/index.html"), "pictures").unwrap();
    let server = serve(|web| web.root = Some(folder.to_path_buf()));
    let page = get(&server, "/");
    assert_eq!((page.status, &*page.text()), (200, "<p>mine</p>"));
    assert!(page.has("content-type: text/html; charset=utf-8"));
    assert!(page.has("x-content-type-options: nosniff"));
    let picture = get(&server, "/art/two%20words.png?version=2");
    assert_eq!(
        (picture.status, &*picture.body),
        (200, &[0x89, 0, 0xff][..])
    );
    assert!(picture.has("content-type: image/png"));
    assert_eq!(get(&server, "/art/").text(), "pictures");
    assert_eq!(get(&server, "/empty.js").status, 200);
    // A file that is new, or another, is there at once.
    fs::write(folder.join("index.html"), "again").unwrap();
    assert_eq!(get(&server, "/index.html").text(), "again");
    // A file that the folder lacks.
    assert!(get(&server, "/game.wasm").has("content-type: application/wasm"));
    assert!(
        get(&server, "/transport.js")
            .text()
            .contains("WebTransport")
    );
    assert_eq!(get(&server, "/none.js").status, 404);
    // Paths that it can't replace.
    assert!(get(&server, "/connect.json").text().contains("\"port\""));
    assert!(!get(&server, "/dashboard").text().contains("mine"));
    let head = ask(&server, "HEAD /art/ HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((head.status, head.body.len()), (200, 0));
    server.stop().unwrap();
}

#[tokio::test]
async fn nothing_outside_of_the_folder_and_nothing_hidden_is_served() {
    let all = TestFolder::new("web-root-hostile");
    let folder = all.join("site");
    fs::create_dir_all(folder.join(".git")).unwrap();
    fs::create_dir_all(folder.join("sub")).unwrap();
    let secret = "this is secret";
    fs::write(all.join("secret.txt"), secret).unwrap();
    fs::write(folder.join(".env"), secret).unwrap();
    fs::write(folder.join(".git/config"), secret).unwrap();
    fs::write(folder.join("sub/.hidden.js"), secret).unwrap();
    symlink(all.join("secret.txt"), folder.join("link.txt")).unwrap();
    symlink("../../secret.txt", folder.join("sub/link.txt")).unwrap();
    symlink(&*all, folder.join("up")).unwrap();
    symlink(".git", folder.join("git")).unwrap();
    symlink("loop", folder.join("loop")).unwrap();
    let large = fs::File::create(folder.join("large.wasm")).unwrap();
    large.set_len((16 << 20) + 1).unwrap();
    let pipe = made_pipe(&folder.join("pipe.js"));
    let server = serve(|web| web.root = Some(folder.clone()));
    let address = all.to_str().expect("a path in UTF-8");
    for path in [
        "/../secret.txt",
        "/sub/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e%2fsecret.txt",
        "/..%5csecret.txt",
        "/....//secret.txt",
        "/.%00./secret.txt",
        "/secret.txt",
        "//etc/passwd",
        "/etc/passwd",
        &format!("/{address}/secret.txt"),
        "/.env",
        "/%2eenv",
        "/.git/config",
        "/git/config",
        "/sub/.hidden.js",
        "/link.txt",
        "/sub/link.txt",
        "/up/secret.txt",
        "/loop",
        "/loop/a",
        "/sub",
        "/sub/",
        "/index.html/",
        "/large.wasm",
        "/%ff%fe",
        "/%",
        &format!("/{}", "a".repeat(300)),
        &"/a".repeat(2000),
    ] {
        let answer = get(&server, path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
        assert!(!answer.text().contains(secret), "{path}");
    }
    if pipe {
        assert_eq!(get(&server, "/pipe.js").status, 404, "it has no writer");
    }
    // Without a folder of one's own, files are those of the page only.
    assert_eq!(get(&server, "/").status, 200, "the built-in page");
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let request = format!("{method} /index.html HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(ask(&server, &request).status, 405, "{method}");
    }
    server.stop().unwrap();
}

/// Makes a pipe without a writer, where there is a program for it.
fn made_pipe(path: &std::path::Path) -> bool {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    made.is_ok_and(|status| status.success())
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_an_error_at_the_start() {
    let folder = TestFolder::absent("web-root-absent");
    let world = common::world(PLAIN);
    let mut options = server::ServerOptions::local(world);
    let mut web = WebServing::at("127.0.0.1:0".parse().expect("an address"));
    web.root = Some(folder.to_path_buf());
    options.web = Some(web);
    let error = Server::start(options).err().expect("no server");
    let error = format!("{error:#}");
    assert!(error.contains("cannot serve the files of"), "{error}");
}

#[tokio::test]
async fn pages_of_allowed_origins_may_ask_where_to_connect() {
    let game = "https://game.example";
    let server = serve(|web| web.origins = vec![game.to_owned(), "http://b:1".to_owned()]);
    let allowed = from(&server, "GET", "/connect.json", game);
    assert_eq!(allowed.status, 200);
    assert!(allowed.has("access-control-allow-origin: https://game.example"));
    assert!(allowed.has("vary: origin"), "{}", allowed.head);
    let preflight = from(&server, "OPTIONS", "/connect.json", "http://b:1");
    assert_eq!((preflight.status, preflight.body.len()), (204, 0));
    assert!(preflight.has("access-control-allow-origin: http://b:1"));
    assert!(preflight.has("access-control-allow-methods: get"));
    assert!(preflight.has("vary: origin"));
    for foreign in [
        "https://evil.example",
        "null",
        "https://game.example.evil",
        "",
    ] {
        for method in ["GET", "OPTIONS"] {
            let answer = from(&server, method, "/connect.json", foreign);
            assert!(!answer.head.contains("access-control-allow-origin"));
            assert!(answer.has("vary: origin"), "a cache would mix them up");
        }
    }
    // Only there: the dashboard is for its own page.
    for path in ["/", "/dashboard", "/dashboard/data/health?viewer=1"] {
        let answer = from(&server, "GET", path, game);
        assert!(!answer.head.contains("access-control"), "{path}");
        assert_eq!(from(&server, "OPTIONS", path, game).status, 405, "{path}");
    }
    server.stop().unwrap();
}

#[tokio::test]
async fn without_origins_no_other_page_may_ask() {
    let server = serve(|_| ());
    let answer = from(&server, "GET", "/connect.json", "https://game.example");
    assert_eq!(answer.status, 403);
    assert!(!answer.head.contains("access-control-allow-origin"));
    server.stop().unwrap();
}
