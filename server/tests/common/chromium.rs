//! A headless Chromium, driven over WebDriver by Debian's `chromedriver`.
//!
//! WebDriver is a few requests of HTTP with JSON, so they are written here: the crates for
//! it bring a runtime, TLS and a client of their own.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::DEADLINE;

/// A browser with one page. It ends when it is dropped.
pub struct Chromium {
    driver: Child,
    address: SocketAddr,
    session: String,
    _turn: Turn,
}

/// One of the browsers that may run at a time: more of them only slow each other down.
struct Turn;

static RUNNING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());
const RUNNING_MAX: usize = 2;
const ATTEMPTS: usize = 3;

impl Turn {
    fn wait() -> Turn {
        let running = RUNNING.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |running: &mut usize| *running >= RUNNING_MAX;
        let waited = RUNNING.1.wait_while(running, is_full);
        *waited.unwrap_or_else(PoisonError::into_inner) += 1;
        Turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *RUNNING.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        RUNNING.1.notify_one();
    }
}

impl Chromium {
    /// Starts a browser with a profile of its own. `None`, and a line that says so, where
    /// there is none.
    pub fn start(profile: &Path) -> Option<Chromium> {
        let turn = Turn::wait();
        // A driver ends if another program has the port that it has found free.
        let mut attempts = 0..ATTEMPTS;
        let (driver, port) = loop {
            assert!(attempts.next().is_some(), "no driver has got a port");
            let driver = Command::new("chromedriver")
                .arg("--port=0")
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn();
            let Ok(mut driver) = driver else {
                println!("skipped: there is no chromedriver (apt-get install chromium-driver)");
                return None;
            };
            match port(&mut driver) {
                Some(port) => break (driver, port),
                None => driver.wait().expect("a driver that has ended"),
            };
        };
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut browser = Chromium {
            driver,
            address,
            session: String::new(),
            _turn: turn,
        };
        // A profile of an earlier run would bring its storage.
        let _ = std::fs::remove_dir_all(profile);
        let profile = format!("--user-data-dir={}", profile.display());
        let arguments = [&ARGUMENTS[..], &[&profile]].concat();
        let options = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let session = browser.ask("POST", "/session", &options);
        let id = session["sessionId"].as_str().expect("a session");
        browser.session = format!("/session/{id}");
        Some(browser)
    }

    pub fn open(&self, url: &str) {
        self.of_session("POST", "/url", &json!({"url": url}));
    }

    /// The value of an expression of JavaScript.
    pub fn value(&self, expression: &str) -> Value {
        let script = format!("return {expression};");
        self.run(&script)
    }

    /// Runs statements of JavaScript.
    pub fn run(&self, script: &str) -> Value {
        let body = json!({"script": script, "args": []});
        self.of_session("POST", "/execute/sync", &body)
    }

    /// Clicks an entity in the drawn area of a map, by its place among those that are drawn.
    pub fn click_entity(&self, map: &str, place: usize) {
        self.run(&format!(
            "const canvas = document.getElementById('area'), box = canvas.getBoundingClientRect();
             const {{ x, y }} = {map}.spots[{place}];
             canvas.dispatchEvent(new MouseEvent('click', {{
                 clientX: box.left + x * box.width / 640, clientY: box.top + y * box.height / 640,
             }}));",
        ));
    }

    /// Waits until an expression is true. One that throws isn't yet: what it reads may come later.
    pub fn until(&self, what: &str, expression: &str) {
        let started = Instant::now();
        loop {
            let value = self.look(expression);
            if value == Value::Bool(true) {
                return;
            }
            let state = || (self.log(), self.value("document.body.innerText"));
            assert!(
                started.elapsed() < 2 * DEADLINE,
                "timed out: {what}: {value}: {:?}",
                state()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Whether an expression is true now, for tests that must not block meanwhile.
    pub fn holds(&self, expression: &str) -> bool {
        self.look(expression) == Value::Bool(true)
    }

    /// Whether an expression is true, or the error that it throws.
    fn look(&self, expression: &str) -> Value {
        self.run(&format!(
            "try {{ return !!({expression}); }} catch (error) {{ return `${{error}}`; }}"
        ))
    }

    /// A command of the DevTools protocol.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        let body = json!({"cmd": command, "params": parameters});
        self.of_session("POST", "/goog/cdp/execute", &body)
    }

    /// Gives the page a size, as that of a phone if it is narrow or low.
    pub fn resize(&self, width: u32, height: u32) {
        let is_phone = width.min(height) < 480;
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone});
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
        let is_so = format!("innerWidth === {width} && innerHeight === {height}");
        self.until("the page has its size", &is_so);
    }

    /// Writes a picture of the page, as PNG.
    pub fn picture(&self, file: &Path) {
        use base64::Engine;
        let picture = self.devtools("Page.captureScreenshot", &json!({"format": "png"}));
        let text = picture["data"].as_str().expect("a picture");
        let bytes = base64::engine::general_purpose::STANDARD.decode(text);
        std::fs::write(file, bytes.expect("base64")).expect("a file");
    }

    /// The errors in the page's console.
    pub fn log(&self) -> Vec<String> {
        let entries = self.of_session("POST", "/se/log", &json!({"type": "browser"}));
        let entries = entries.as_array().cloned().unwrap_or_default();
        let errors = entries.iter().filter(|entry| entry["level"] == "SEVERE");
        errors.map(|entry| entry["message"].to_string()).collect()
    }

    fn of_session(&self, method: &str, path: &str, body: &Value) -> Value {
        self.ask(method, &format!("{}{path}", self.session), body)
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let length = body.len();
        let mut stream = TcpStream::connect(self.address).expect("a connection to the driver");
        stream.set_read_timeout(Some(DEADLINE)).expect("a time-out");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("a request");
        let answer = read_answer(&mut BufReader::new(stream));
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        let value = answer["value"].clone();
        assert!(value["error"].is_null(), "{path}: {value}");
        value
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            // A driver that is killed leaves its browser running. This may fail while a test
            // fails already: on a thread of its own, which does not end the process.
            std::thread::scope(|scope| {
                let ending = scope.spawn(|| self.of_session("DELETE", "", &json!({})));
                drop(ending.join());
            });
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// The port that a driver has chosen; `None` if it has ended without one.
fn port(driver: &mut Child) -> Option<u16> {
    let output = driver.stdout.take().expect("its output");
    let mut lines = BufReader::new(output).lines();
    let line = lines.find_map(|line| {
        let line = line.ok()?;
        let rest = line.split("started successfully on port ").nth(1)?;
        rest.trim_end_matches('.').parse().ok()
    });
    // Its later output must have a reader.
    std::thread::spawn(move || lines.for_each(drop));
    line
}

/// The body of an answer of HTTP.
fn read_answer(reader: &mut impl BufRead) -> Vec<u8> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    body
}

const ARGUMENTS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1440,900",
];
