//! What has changed in the file of a running world. The world keeps what it has; its operator
//! learns of it from the log, and not from a restart.

use std::time::{Duration, Instant};

use durability::differences;
use shared::WorldConfig;
use tracing::{info, warn};
use world_file::Reader;
use world_file::folder::Mark;

use super::WorldFile;

/// Looks at a world file now and then.
pub struct FileWatch {
    file: WorldFile,
    /// The world that the file gave.
    world: WorldConfig,
    mark: Option<Mark>,
    /// The text that was read last.
    text: String,
    next_look: Instant,
}

impl FileWatch {
    pub fn new(file: WorldFile, world: &WorldConfig) -> FileWatch {
        FileWatch {
            text: file.text.clone(),
            file,
            world: world.clone(),
            mark: None,
            next_look: Instant::now(),
        }
    }

    /// Looks, if it is time, and reports what has changed.
    pub fn look(&mut self) {
        if Instant::now() < self.next_look {
            return;
        }
        self.next_look = Instant::now() + LOOK_EVERY;
        // A world can come through a pipe, which can't be read again.
        let metadata = std::fs::metadata(&self.file.path).ok();
        let Some(metadata) = metadata.filter(|metadata| metadata.is_file()) else {
            return;
        };
        let mark = Mark::of(&metadata);
        if self.mark.as_ref() == Some(&mark) {
            return;
        }
        if let Ok(text) = world_file::read_file(&self.file.path) {
            self.mark = Some(mark);
            if text != self.text {
                self.report(&text);
                self.text = text;
            }
        }
    }

    fn report(&self, text: &str) {
        let path = self.file.path.display();
        match self.change(text) {
            Change::Nothing => info!("{path} is again as the running world was started with it"),
            Change::Problems(problems) => warn!(
                "{path} has changed, and no world can start with it; the running one keeps what \
                 it has\n\n{problems}"
            ),
            Change::Values(values) if values.is_empty() => warn!(
                "{path} has changed; the running world keeps what it has until the server starts \
                 again"
            ),
            Change::Values(values) => {
                let values = values.join("\n  ");
                warn!(
                    "{path} has changed; the running world keeps what it has until the server \
                     starts again. It differs in\n  {values}"
                );
            }
        }
    }

    fn change(&self, text: &str) -> Change {
        if text == self.file.text {
            return Change::Nothing;
        }
        let reader = Reader {
            overrides: self.file.overrides,
            ..Reader::default()
        };
        match reader.parse(text, &self.file.path.display().to_string()) {
            Ok(checked) => {
                let mut values = differences::of_all(&self.world, &checked.config);
                values.truncate(VALUES_MAX);
                Change::Values(values)
            }
            Err(problems) => Change::Problems(problems.to_string()),
        }
    }
}

/// What another text of the file changes.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Nothing,
    Values(Vec<String>),
    Problems(String),
}

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The most values that are named.
const VALUES_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use world_file::Overrides;

    use super::*;

    #[test]
    fn a_changed_file_is_reported_with_what_differs() {
        let text = "[world]\naoi = 20\ntick_hz = 10\n";
        let watch = |overrides: Overrides| {
            let reader = Reader {
                overrides,
                ..Reader::default()
            };
            let world = reader.parse(text, "w.toml").unwrap().config;
            let file = WorldFile {
                path: "w.toml".into(),
                text: text.to_owned(),
                overrides,
            };
            FileWatch::new(file, &world)
        };
        let plain = watch(Overrides::default());
        assert_eq!(plain.change(text), Change::Nothing);
        let commented = format!("# a comment\n{text}");
        assert!(matches!(plain.change(&commented), Change::Values(_)));
        let faster = text.replace("tick_hz = 10", "tick_hz = 20");
        let Change::Values(values) = plain.change(&faster) else {
            panic!("it is valid");
        };
        assert!(
            values.contains(&"schema.world.tick_hz: 10, now 20".to_owned()),
            "{values:?}"
        );
        let wrong = text.replace("20", "0");
        let Change::Problems(problems) = plain.change(&wrong) else {
            panic!("it has a problem");
        };
        assert!(problems.contains("w.toml:2: world.aoi:"), "{problems}");
        // The rate that the command line sets has not changed.
        let overridden = watch(Overrides {
            tick_hz: Some(50),
            ..Overrides::default()
        });
        assert_eq!(overridden.change(&faster), Change::Values(vec![]));
    }
}
