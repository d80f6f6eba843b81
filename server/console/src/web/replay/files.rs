//! The files of the page. It draws with the dashboard's modules.

use platform::http::Page;

use crate::web::dashboard;

/// The file at a path, if there is one.
pub fn at(path: &str) -> Option<Page> {
    let (content_type, bytes): (_, &[u8]) = match path {
        "/replay" | "/replay/" => (
            "text/html; charset=utf-8",
            include_bytes!("page/index.html"),
        ),
        "/replay/style.css" => ("text/css; charset=utf-8", include_bytes!("page/style.css")),
        "/replay/main.js" => (
            "text/javascript; charset=utf-8",
            include_bytes!("page/main.js"),
        ),
        "/replay/timeline.js" => (
            "text/javascript; charset=utf-8",
            include_bytes!("page/timeline.js"),
        ),
        "/replay/run.js" => (
            "text/javascript; charset=utf-8",
            include_bytes!("page/run.js"),
        ),
        "/replay/tables.js" => (
            "text/javascript; charset=utf-8",
            include_bytes!("page/tables.js"),
        ),
        // The dashboard's own page has nothing to show here.
        "/dashboard" | "/dashboard/" => return None,
        path => return dashboard::files::at(path),
    };
    Some(Page::new(content_type, bytes))
}
