//! The folder of a persistent world, its lock, and the server's identity.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use platform::{private, taken};
use rustls::crypto::ring::default_provider;

use super::disk::Folder;

/// A folder that no other server uses.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    /// The lock ends with it.
    _lock: File,
}

/// The key of an endpoint's stateless resets.
pub type ResetKey = [u8; 64];

impl DataFolder {
    /// Opens a folder, which is made if there is none, and locks it.
    pub fn open(path: &Path) -> Result<DataFolder> {
        let name = path.display();
        private::create_folder(path).with_context(|| format!("cannot make the folder {name}"))?;
        let mut options = private::options();
        let lock = options.create(true).truncate(false).write(true);
        let lock = lock
            .open(path.join("lock"))
            .with_context(|| format!("cannot write into the folder {name}"))?;
        let is_taken = |error: &TryLockError| matches!(error, TryLockError::WouldBlock);
        match taken::retry(|| lock.try_lock(), is_taken) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("{name} is in use: only one server at a time can use it")
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {name}"));
            }
        }
        Ok(DataFolder {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    pub fn disk(&self) -> Folder {
        Folder::new(&self.path)
    }

    /// The PEM files of certificate and key. `make` makes their texts the first time.
    pub fn identity(
        &self,
        make: impl FnOnce() -> Result<(String, String)>,
    ) -> Result<(PathBuf, PathBuf)> {
        let (certificate, key) = self.identity_files();
        // The key comes first: a certificate without one is of no use.
        if !certificate.exists() {
            let (certificate_text, key_text) = make()?;
            self.write("key.pem", key_text.as_bytes())?;
            self.write("certificate.pem", certificate_text.as_bytes())?;
        }
        Ok((certificate, key))
    }

    /// Where the self-signed certificate and its key are, or will be.
    pub fn identity_files(&self) -> (PathBuf, PathBuf) {
        (self.path.join("certificate.pem"), self.path.join("key.pem"))
    }

    /// With the same key after a restart, clients learn at once that their connections are
    /// gone.
    pub fn reset_key(&self) -> Result<ResetKey> {
        let path = self.path.join("reset.key");
        if !path.exists() {
            let mut key = [0; 64];
            if default_provider().secure_random.fill(&mut key).is_err() {
                bail!("the system gives no random bytes");
            }
            self.write("reset.key", &key)?;
        }
        let key = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let length = key.len();
        match key.try_into() {
            Ok(key) => Ok(key),
            Err(_) => bail!("{} has {length} bytes, expected 64", path.display()),
        }
    }

    /// The name of the server of this folder towards a third party. A standby has another one than
    /// its primary.
    pub fn server_id(&self) -> Result<String> {
        let path = self.path.join("server");
        if !path.exists() {
            let mut random = [0; 8];
            if default_provider().secure_random.fill(&mut random).is_err() {
                bail!("the system gives no random bytes");
            }
            let id = random.map(|byte| format!("{byte:02x}")).concat();
            self.write("server", id.as_bytes())?;
        }
        let id = fs::read_to_string(&path);
        id.with_context(|| format!("cannot read {}", path.display()))
    }

    /// The texts of certificate and key, and the reset key: with these, clients accept a standby
    /// that takes over.
    pub fn export(&self) -> Result<Keys> {
        let read = |name: &str| {
            let path = self.path.join(name);
            fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        Ok(Keys {
            certificate: read("certificate.pem")?,
            key: read("key.pem")?,
            reset: read("reset.key")?,
        })
    }

    /// Takes over the identity of another server.
    pub fn import(&self, keys: &Keys) -> Result<()> {
        for (name, bytes) in [
            ("key.pem", &keys.key),
            ("certificate.pem", &keys.certificate),
            ("reset.key", &keys.reset),
        ] {
            if fs::read(self.path.join(name)).ok().as_ref() != Some(bytes) {
                self.write(name, bytes)?;
            }
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        write(&self.path, name, bytes)
    }
}

/// The identity of a server towards its clients: the bytes of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
    pub reset: Vec<u8>,
}

/// Writes a file that only this user may read, as a whole or not at all.
pub fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let new = folder.join(format!("{name}.new"));
    let written = (|| {
        let mut file = private::create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, folder.join(name))?;
        File::open(folder)?.sync_all()
    })();
    written.with_context(|| format!("cannot write {}", folder.join(name).display()))
}
