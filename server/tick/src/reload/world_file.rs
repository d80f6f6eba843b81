//! Changes in the file of a running world. They have no effect before a restart; the log reports
//! them to the operator now.

use std::time::{Duration, Instant};

use durability::differences;
use shared::WorldConfig;
use tracing::{info, warn};
use world_file::Reader;
use world_file::folder::Mark;

use super::WorldFile;

/// Checks a world file periodically.
pub struct FileWatch {
    file: WorldFile,
    /// The world of the file at the start.
    world: WorldConfig,
    mark: Option<Mark>,
    /// The text that was read last.
    text: String,
    next_check: Instant,
}

impl FileWatch {
    pub fn new(file: WorldFile, world: &WorldConfig) -> FileWatch {
        FileWatch {
            text: file.text.clone(),
            file,
            world: world.clone(),
            mark: None,
            next_check: Instant::now(),
        }
    }

    /// Checks the file, if it is time, and reports changes.
    pub fn check(&mut self) {
        if Instant::now() < self.next_check {
            return;
        }
        self.next_check = Instant::now() + CHECK_EVERY;
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
            FileChange::Nothing => {
                info!("{path} is again as the running world was started with it")
            }
            FileChange::Problems(problems) => warn!(
                "{path} has changed, and no world can start with it; the running one keeps what \
                 it has\n\n{problems}"
            ),
            FileChange::Values(values) if values.is_empty() => warn!(
                "{path} has changed; the running world keeps what it has until the server starts \
                 again"
            ),
            FileChange::Values(values) => {
                let values = values.join("\n  ");
                warn!(
                    "{path} has changed; the running world keeps what it has until the server \
                     starts again. It differs in\n  {values}"
                );
            }
        }
    }

    fn change(&self, text: &str) -> FileChange {
        if text == self.file.text {
            return FileChange::Nothing;
        }
        let reader = Reader {
            overrides: self.file.overrides,
            ..Reader::default()
        };
        match reader.parse(text, &self.file.path.display().to_string()) {
            Ok(checked) => {
                let mut values = differences::of_all(&self.world, &checked.config);
                values.truncate(VALUES_MAX);
                FileChange::Values(values)
            }
            Err(problems) => FileChange::Problems(problems.to_string()),
        }
    }
}

/// The effect of another text of the file.
#[derive(Debug, PartialEq, Eq)]
enum FileChange {
    Nothing,
    Values(Vec<String>),
    Problems(String),
}

const CHECK_EVERY: Duration = Duration::from_secs(1);
/// The most values that are reported.
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
        assert_eq!(plain.change(text), FileChange::Nothing);
        let commented = format!("# a comment\n{text}");
        assert!(matches!(plain.change(&commented), FileChange::Values(_)));
        let faster = text.replace("tick_hz = 10", "tick_hz = 20");
        let FileChange::Values(values) = plain.change(&faster) else {
            panic!("it is valid");
        };
        assert!(
            values.contains(&"schema.world.tick_hz: 10, now 20".to_owned()),
            "{values:?}"
        );
        let wrong = text.replace("20", "0");
        let FileChange::Problems(problems) = plain.change(&wrong) else {
            panic!("it has a problem");
        };
        assert!(problems.contains("w.toml:2: world.aoi:"), "{problems}");
        // The rate that the command line sets has not changed.
        let overridden = watch(Overrides {
            tick_hz: Some(50),
            ..Overrides::default()
        });
        assert_eq!(overridden.change(&faster), FileChange::Values(vec![]));
    }
}
