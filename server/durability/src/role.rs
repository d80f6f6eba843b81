//! Whether a folder's world is the one that players are in, or a copy. The file `role` has it,
//! so that no server mistakes a copy for the world.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::epoch::Epoch;
use super::folder::write;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Players are in it.
    Primary,
    /// It follows a primary.
    Standby,
    /// Another server took over the world.
    Deposed,
}

/// A role, and the highest epoch that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub role: Role,
    pub epoch: Epoch,
}

impl Standing {
    /// Reads the file; a folder without it is a primary's that never had a standby.
    pub fn read(folder: &Path) -> Result<Standing> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Standing {
                    role: Role::Primary,
                    epoch: Epoch::default(),
                });
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let parsed = Standing::parse(&text);
        parsed.with_context(|| format!("{} has {text:?}, which is no role", path.display()))
    }

    /// Returns once it can't be lost.
    pub fn write(self, folder: &Path) -> Result<()> {
        let name = NAMES.iter().find(|(role, _)| *role == self.role);
        let name = name.map_or("", |(_, name)| name);
        write(
            folder,
            FILE,
            format!("{name} {}\n", self.epoch.0).as_bytes(),
        )
    }

    /// Fails where players must not be admitted.
    pub fn check_primary(self, folder: &Path) -> Result<()> {
        let folder = folder.display();
        match self.role {
            Role::Primary => Ok(()),
            Role::Standby => bail!(
                "{folder} is a standby's: follow its primary with --follow, or make it the \
                 primary with `myriad promote {folder}`"
            ),
            Role::Deposed => bail!(
                "a standby was promoted, and runs the world in epoch {}: follow it \
                 with --follow",
                self.epoch
            ),
        }
    }

    fn parse(text: &str) -> Option<Standing> {
        let (name, epoch) = text.trim_end().split_once(' ')?;
        let (role, _) = NAMES.iter().find(|(_, known)| *known == name)?;
        Some(Standing {
            role: *role,
            epoch: Epoch(epoch.parse().ok()?),
        })
    }
}

const FILE: &str = "role";
const NAMES: [(Role, &str); 3] = [
    (Role::Primary, "primary"),
    (Role::Standby, "standby"),
    (Role::Deposed, "deposed"),
];
