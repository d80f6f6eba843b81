//! The steps of a tick on the tick thread, and how long each took.

use std::time::{Duration, Instant};

/// The steps in order; the wait for the fan-out of the tick before is none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Step {
    /// From the inboxes, the directory and the holdings into the frame.
    Gather,
    /// The order of the frame's commands.
    Order,
    /// The backend's tick.
    Backend,
    /// The recording.
    Record,
    /// Matching with subscriptions.
    Listen,
    /// The mirror and the directory.
    Apply,
    /// Handing the tick to the journal, and waiting until it is durable.
    Keep,
    /// Handing everything to the shards.
    Publish,
}

impl Step {
    pub const ALL: [Step; 8] = [
        Step::Gather,
        Step::Order,
        Step::Backend,
        Step::Record,
        Step::Listen,
        Step::Apply,
        Step::Keep,
        Step::Publish,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Step::Gather => "gather",
            Step::Order => "order",
            Step::Backend => "backend",
            Step::Record => "record",
            Step::Listen => "listen",
            Step::Apply => "apply",
            Step::Keep => "keep",
            Step::Publish => "publish",
        }
    }
}

/// The time that each step of a tick took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepTimes([Duration; Step::ALL.len()]);

impl StepTimes {
    pub fn of(&self, step: Step) -> Duration {
        self.0[step as usize]
    }

    pub fn total(&self) -> Duration {
        self.0.iter().sum()
    }

    /// All steps but the backend's.
    pub fn host(&self) -> Duration {
        self.total() - self.of(Step::Backend)
    }
}

/// Measures steps that follow each other.
pub struct StepClock {
    times: StepTimes,
    since: Instant,
    /// None if only the times are of interest.
    marks: Option<Vec<Mark>>,
}

/// A step, and when it was. Some come twice in a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub step: Step,
    pub from: Instant,
    pub to: Instant,
}

impl StepClock {
    pub fn start(now: Instant) -> StepClock {
        StepClock {
            times: StepTimes::default(),
            since: now,
            marks: None,
        }
    }

    /// From now on also notes when each step is.
    pub fn keep_marks(&mut self) {
        self.marks = Some(Vec::with_capacity(Step::ALL.len() + 2));
    }

    /// The steps so far, if they are kept.
    pub fn take_marks(&mut self) -> Vec<Mark> {
        self.marks.take().unwrap_or_default()
    }

    /// The step ends now, and the next one begins.
    pub fn end(&mut self, step: Step) {
        let from = self.since;
        let time = self.lap();
        self.times.0[step as usize] += time;
        if let Some(marks) = &mut self.marks {
            marks.push(Mark {
                step,
                from,
                to: self.since,
            });
        }
    }

    /// The time since the last step, which counts as none.
    pub fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.since, now)
    }

    pub fn times(&self) -> StepTimes {
        self.times
    }
}
