//! The files of the dashboard's page.

use platform::http::Page;

/// The file at a path, if there is one.
pub fn at(path: &str) -> Option<Page> {
    let name = match path {
        "/dashboard" | "/dashboard/" => "index.html",
        path => path.strip_prefix("/dashboard/")?,
    };
    let &(_, content_type, bytes) = FILES.iter().find(|file| file.0 == name)?;
    Some(Page::new(content_type, bytes))
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// A file of the page by its name.
macro_rules! file {
    ($name:literal, $content_type:ident) => {{
        let bytes = include_bytes!(concat!("page/", $name));
        ($name, $content_type, bytes)
    }};
}

/// (name, type, bytes)
const FILES: [(&str, &str, &[u8]); 11] = [
    file!("index.html", HTML),
    file!("style.css", STYLE),
    file!("main.js", SCRIPT),
    file!("server.js", SCRIPT),
    file!("charts.js", SCRIPT),
    file!("map.js", SCRIPT),
    file!("people.js", SCRIPT),
    // Kinds look as they do for players.
    (
        "look.js",
        SCRIPT,
        include_bytes!("../../../../../client-bot/web/page/look.js"),
    ),
    // The library for charts, as it is published: https://github.com/leeoniya/uPlot
    file!("uplot-1.6.32.min.js", SCRIPT),
    file!("uplot-1.6.32.min.css", STYLE),
    file!("uplot-1.6.32.LICENSE", TEXT),
];
