//! How long a run will take, from its first updates.

use std::time::Instant;

use crate::checkpoint::State;
use crate::log::Event;

/// Updates that are measured, after one that warms up.
const MEASURED: u64 = 4;

/// Watches the first updates of a start.
#[derive(Debug)]
pub(crate) struct Pace {
    /// The first update of this start.
    first: u64,
    /// When it was made, and the target tokens seen by then.
    warm: Option<(Instant, u64)>,
}

impl Pace {
    /// Before the first update of a start.
    pub(crate) fn new(state: &State) -> Self {
        Self { first: state.update + 1, warm: None }
    }

    /// After an update: the estimate, once there is one, if updates are left.
    pub(crate) fn after(&mut self, state: &State, last: u64) -> Option<Event> {
        if state.update == self.first {
            self.warm = Some((Instant::now(), state.tokens));
        }
        if state.update != self.first + MEASURED || state.update == last {
            return None;
        }
        let (since, tokens) = self.warm?;
        let seconds = since.elapsed().as_secs_f64();
        Some(Event::Estimate {
            update: state.update,
            seconds_left: seconds / MEASURED as f64 * (last - state.update) as f64,
            tokens_per_second: (state.tokens - tokens) as f64 / seconds,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_an_update_as_the_first_did() {
        let state = |update: u64| State { update, tokens: update * 100, ..State::default() };
        let mut pace = Pace::new(&state(10));
        let started = Instant::now();
        let mut found = Vec::new();
        for update in 11..30 {
            std::thread::sleep(std::time::Duration::from_millis(5));
            found.extend(pace.after(&state(update), 1015));
        }
        let most = started.elapsed().as_secs_f64();
        let [Event::Estimate { update: 15, seconds_left, tokens_per_second }] = found[..] else {
            panic!("one estimate at update 15, got {found:?}")
        };
        assert!((5.0..=most / 4.0 * 1000.0).contains(&seconds_left), "{seconds_left} s left");
        let seconds = seconds_left / 1000.0 * 4.0;
        assert!((tokens_per_second - 400.0 / seconds).abs() < 1e-6 * tokens_per_second, "{tokens_per_second}");
    }

    #[test]
    fn a_run_that_ends_at_once_is_not_estimated() {
        let mut pace = Pace::new(&State::default());
        let all = (1..=5).filter_map(|update| pace.after(&State { update, ..State::default() }, 5));
        assert_eq!(all.count(), 0);
    }
}
