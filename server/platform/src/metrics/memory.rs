//! The memory that this process may have: the machine's available memory, and the limits of the
//! process's control groups, of version 1 and 2, and of the groups above them.
//!
//! Every function takes the folder that is `/` elsewhere than in tests.

use std::fs;
use std::path::{Path, PathBuf};

/// The memory of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes that it could still take.
    pub available: Option<u64>,
    /// Bytes that it may have, beside others of its groups.
    pub total: Option<u64>,
    /// The group that leaves the least; `None`: the machine does.
    pub limit: Option<Limit>,
}

/// A limit of a control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The file of the limit.
    pub file: PathBuf,
    pub bytes: u64,
    /// Bytes that it leaves.
    pub available: u64,
}

/// The memory of this process.
pub fn memory() -> Memory {
    memory_at(Path::new("/"))
}

/// The same with the files of another root.
pub fn memory_at(root: &Path) -> Memory {
    let machine = fs::read_to_string(root.join("proc/meminfo")).unwrap_or_default();
    let of_machine = |name| Some(number_of(&machine, name)?.saturating_mul(1024));
    let (available, total) = (of_machine("MemAvailable:"), of_machine("MemTotal:"));
    let limits = limits(root);
    let smallest = limits.iter().map(|limit| limit.bytes).min();
    let tightest = limits.into_iter().min_by_key(|limit| limit.available);
    let tightest = tightest.filter(|limit| available.is_none_or(|bytes| limit.available < bytes));
    Memory {
        available: smaller(available, tightest.as_ref().map(|limit| limit.available)),
        total: smaller(total, smallest),
        limit: tightest,
    }
}

/// All limits of the groups that the process is in, and of those above.
fn limits(root: &Path) -> Vec<Limit> {
    let read = |name| fs::read_to_string(root.join(name)).unwrap_or_default();
    let (groups, mounts) = (read("proc/self/cgroup"), read("proc/self/mountinfo"));
    let mut limits = vec![];
    for version in [&VERSION_1, &VERSION_2] {
        let group = groups.lines().find_map(|line| version.group_of(line));
        let mount = mounts.lines().find_map(|line| version.mount_of(line));
        let (Some(group), Some(mount)) = (group, mount) else {
            continue;
        };
        let top = root.join(mount.point.trim_start_matches('/'));
        // The root of the mount is the group that its folder shows. In a container it may be named
        // otherwise than the group, or not be seen at all.
        let inner = Path::new(group).strip_prefix(mount.root).ok();
        let inner = inner.or_else(|| Path::new(group).strip_prefix("/").ok());
        let mut folder = top.join(inner.unwrap_or(Path::new("")));
        if !folder.is_dir() {
            folder.clone_from(&top);
        }
        while folder.starts_with(&top) {
            version.add_limits(&folder, &mut limits);
            if !folder.pop() {
                break;
            }
        }
    }
    limits
}

/// Where a hierarchy of groups is mounted.
struct Mount<'a> {
    root: &'a str,
    point: String,
}

/// The files of a version.
struct Version {
    file_system: &'static str,
    controller: Option<&'static str>,
    limits: &'static [&'static str],
    used: &'static str,
    /// In `memory.stat`: the bytes that can be reclaimed.
    reclaimable: [&'static str; 2],
}

const VERSION_1: Version = Version {
    file_system: "cgroup",
    controller: Some("memory"),
    limits: &["memory.limit_in_bytes"],
    used: "memory.usage_in_bytes",
    reclaimable: ["total_inactive_file ", "total_active_file "],
};
const VERSION_2: Version = Version {
    file_system: "cgroup2",
    controller: None,
    // Beyond `memory.high` a process is slowed down too much to play.
    limits: &["memory.max", "memory.high"],
    used: "memory.current",
    reclaimable: ["inactive_file ", "active_file "],
};

impl Version {
    /// The process's group in a line of `/proc/self/cgroup`, as `NUMBER:CONTROLLERS:GROUP`.
    fn group_of<'a>(&self, line: &'a str) -> Option<&'a str> {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, group) = (parts.next()?, parts.next()?, parts.next()?);
        let is_own = match self.controller {
            Some(own) => controllers.split(',').any(|controller| controller == own),
            None => number == "0" && controllers.is_empty(),
        };
        is_own.then_some(group)
    }

    /// The mount in a line of `/proc/self/mountinfo`.
    fn mount_of<'a>(&self, line: &'a str) -> Option<Mount<'a>> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut of_file_system = file_system.split(' ');
        let kind = of_file_system.next()?;
        let mut options = of_file_system.nth(1)?.split(',');
        let is_own = kind == self.file_system
            && self
                .controller
                .is_none_or(|own| options.any(|option| option == own));
        let mut words = mount.split(' ').skip(3);
        let (root, point) = (words.next()?, words.next()?);
        is_own.then(|| Mount {
            root,
            // Blanks are written in octal.
            point: point.replace("\\040", " "),
        })
    }

    fn add_limits(&self, folder: &Path, limits: &mut Vec<Limit>) {
        let used = number_in(&folder.join(self.used));
        let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let reclaimable = self.reclaimable.map(|name| number_of(&stat, name));
        let reclaimable: u64 = reclaimable.into_iter().flatten().sum();
        let used = used.unwrap_or(0).saturating_sub(reclaimable);
        for name in self.limits {
            let file = folder.join(name);
            if let Some(bytes) = number_in(&file).filter(|&bytes| bytes < UNLIMITED) {
                let available = bytes.saturating_sub(used);
                limits.push(Limit {
                    file,
                    bytes,
                    available,
                });
            }
        }
    }
}

/// The number in a file; `None` for `max`.
fn number_in(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The number after a name at the beginning of a line.
fn number_of(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn smaller(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// About the value of version 1 where there is no limit.
const UNLIMITED: u64 = 1 << 62;

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with these files.
    struct Root(PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &str)]) -> Root {
            let folder = format!("myriad-memory-{name}-{}", std::process::id());
            let root = Root(std::env::temp_dir().join(folder));
            let meminfo = (
                "proc/meminfo",
                "MemTotal: 8000 kB\nMemAvailable:    6000 kB\n",
            );
            for (file, text) in files.iter().chain([&meminfo]) {
                let path = root.0.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            root
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const MOUNT_2: &str = "25 1 0:20 / /proc rw - proc proc rw\n\
        30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn without_groups_the_machine_is_the_limit() {
        let root = Root::new("none", &[]);
        let memory = memory_at(&root.0);
        assert_eq!(memory.available, Some(6000 << 10));
        assert_eq!(memory.total, Some(8000 << 10));
        assert_eq!(memory.limit, None);
    }

    #[test]
    fn a_group_of_version_2_counts_without_what_it_could_give_back() {
        let root = Root::new(
            "v2",
            &[
                ("proc/self/cgroup", "0::/a/b\n"),
                ("proc/self/mountinfo", MOUNT_2),
                ("sys/fs/cgroup/a/b/memory.max", "3000000\n"),
                ("sys/fs/cgroup/a/b/memory.high", "max\n"),
                ("sys/fs/cgroup/a/b/memory.current", "1000000\n"),
                (
                    "sys/fs/cgroup/a/b/memory.stat",
                    "anon 400000\ninactive_file 500000\nactive_file 100000\n",
                ),
                ("sys/fs/cgroup/a/memory.max", "max\n"),
            ],
        );
        let memory = memory_at(&root.0);
        assert_eq!(memory.available, Some(2_600_000));
        assert_eq!(memory.total, Some(3_000_000));
        let limit = memory.limit.unwrap();
        assert!(limit.file.ends_with("a/b/memory.max"), "{limit:?}");
    }

    #[test]
    fn the_groups_above_and_the_bound_that_slows_down_count_too() {
        let root = Root::new(
            "nested",
            &[
                ("proc/self/cgroup", "0::/a/b/c\n"),
                ("proc/self/mountinfo", MOUNT_2),
                ("sys/fs/cgroup/a/b/c/memory.max", "5000000\n"),
                ("sys/fs/cgroup/a/b/c/memory.current", "100000\n"),
                ("sys/fs/cgroup/a/memory.high", "2000000\n"),
                // Others of the group have most of it.
                ("sys/fs/cgroup/a/memory.current", "1500000\n"),
            ],
        );
        let memory = memory_at(&root.0);
        assert_eq!(memory.available, Some(500_000));
        assert_eq!(memory.total, Some(2_000_000));
        let limit = memory.limit.unwrap();
        assert!(limit.file.ends_with("a/memory.high"), "{limit:?}");
    }

    #[test]
    fn a_group_of_version_1_is_found_by_its_controller() {
        let root = Root::new(
            "v1",
            &[
                (
                    "proc/self/cgroup",
                    "9:cpu,cpuacct:/x\n4:memory:/docker/7f\n0::/system.slice\n",
                ),
                (
                    "proc/self/mountinfo",
                    "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                     32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
                ),
                (
                    "sys/fs/cgroup/memory/memory.limit_in_bytes",
                    "9223372036854771712\n",
                ),
                (
                    "sys/fs/cgroup/memory/docker/7f/memory.limit_in_bytes",
                    "4000000\n",
                ),
                (
                    "sys/fs/cgroup/memory/docker/7f/memory.usage_in_bytes",
                    "2500000\n",
                ),
                (
                    "sys/fs/cgroup/memory/docker/7f/memory.stat",
                    "inactive_file 7\ntotal_inactive_file 500000\n",
                ),
            ],
        );
        let memory = memory_at(&root.0);
        assert_eq!(memory.available, Some(2_000_000));
        assert_eq!(memory.total, Some(4_000_000));
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_top() {
        // The group is named as outside, and only its own folder is mounted.
        for (group, mount_root) in [("/docker/7f", "/docker/7f"), ("/", "/"), ("/../x", "/")] {
            let mount = format!("30 23 0:26 {mount_root} /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
            let root = Root::new(
                "container",
                &[
                    ("proc/self/cgroup", &format!("0::{group}\n")),
                    ("proc/self/mountinfo", &mount),
                    ("sys/fs/cgroup/memory.max", "3000000\n"),
                    ("sys/fs/cgroup/memory.current", "1000000\n"),
                ],
            );
            let memory = memory_at(&root.0);
            assert_eq!(memory.available, Some(2_000_000), "{group}");
        }
    }

    #[test]
    fn a_group_that_has_used_up_its_memory_leaves_none() {
        let root = Root::new(
            "full",
            &[
                ("proc/self/cgroup", "0::/\n"),
                ("proc/self/mountinfo", MOUNT_2),
                ("sys/fs/cgroup/memory.max", "3000000\n"),
                ("sys/fs/cgroup/memory.current", "3100000\n"),
            ],
        );
        assert_eq!(memory_at(&root.0).available, Some(0));
    }
}
