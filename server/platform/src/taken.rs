//! What is taken for a moment longer than its user has it: a process that is started has the open
//! files and sockets of the one that starts it, until it runs its own program.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Tries again, for a second at most, while something is taken.
pub fn retry<T, E>(
    mut attempt: impl FnMut() -> Result<T, E>,
    is_taken: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let begun = Instant::now();
    loop {
        match attempt() {
            Err(error) if is_taken(&error) && begun.elapsed() < LONGEST => sleep(PERIOD),
            ended => return ended,
        }
    }
}

const LONGEST: Duration = Duration::from_secs(1);
const PERIOD: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_tried_until_it_is_free_and_no_other_error_is() {
        let mut left = 3;
        let attempt = || match left {
            0 => Ok(()),
            _ => {
                left -= 1;
                Err("taken")
            }
        };
        assert_eq!(retry(attempt, |&error| error == "taken"), Ok(()));
        let mut tries = 0;
        let attempt = || {
            tries += 1;
            Err::<(), &str>("broken")
        };
        assert_eq!(retry(attempt, |&error| error == "taken"), Err("broken"));
        assert_eq!(tries, 1);
    }
}
