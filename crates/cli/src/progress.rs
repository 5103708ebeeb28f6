//! The line of progress: which of how many steps runs, how much of it is done, and about how long it
//! still takes.

use std::fmt::Display;
use std::io;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use liken::Progress;

/// How often the line is drawn, and how often the estimate may change.
const DRAWN: Duration = Duration::from_millis(50);
const ESTIMATED: Duration = Duration::from_secs(2);

/// A line at the end of the terminal that is overwritten.
pub struct ProgressLine {
    bar: ProgressBar,
    state: Mutex<State>,
}

struct State {
    /// The stage as it is shown, with the number of its step.
    stage: String,
    has_total: bool,
    started: Instant,
    drawn: Instant,
    estimated: Instant,
}

impl ProgressLine {
    /// Shows nothing where `hidden`.
    pub fn new(hidden: bool) -> Self {
        let target =
            if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let now = Instant::now();
        ProgressLine {
            bar: ProgressBar::with_draw_target(None, target).with_style(style(false)),
            state: Mutex::new(State {
                stage: String::new(),
                has_total: false,
                started: now,
                drawn: now,
                estimated: now,
            }),
        }
    }

    /// Draws `progress`.
    pub fn show(&self, progress: Progress<'_>) {
        let Ok(mut state) = self.state.lock() else { return };
        let (now, total) = (Instant::now(), progress.total.filter(|&total| total > 0));
        let stage = titled(&progress);
        if state.stage != stage || state.has_total != total.is_some() {
            self.bar.reset();
            self.bar.set_style(style(total.is_some()));
            self.bar.set_prefix(stage.clone());
            self.bar.set_message("");
            *state = State {
                stage,
                has_total: total.is_some(),
                started: now,
                drawn: now,
                estimated: now,
            };
        } else if now - state.drawn < DRAWN {
            return;
        }
        state.drawn = now;
        if let Some(total) = total {
            self.bar.set_length(total);
            if now - state.estimated >= ESTIMATED {
                state.estimated = now;
                self.bar.set_message(estimate(now - state.started, progress.done, total));
            }
        }
        self.bar.set_position(progress.done);
        self.bar.tick();
    }

    /// Removes the line.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Writes a line of text above the line of progress.
    pub fn write_above(&self, text: impl Display) {
        self.bar.suspend(|| {
            let _ = io::Write::write_fmt(&mut anstream::stderr(), format_args!("{text}\n"));
        });
    }
}

fn style(has_total: bool) -> ProgressStyle {
    let template = match has_total {
        true => "{spinner} {prefix} {bar:30} {percent}% {msg}",
        false => "{spinner} {prefix}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// The stage with what is worked on, and with the number of its step if there are several.
fn titled(progress: &Progress<'_>) -> String {
    let step = progress.step.filter(|&(_, of)| of > 1);
    let step = step.map_or(String::new(), |(number, of)| format!("[{number}/{of}] "));
    let subject = progress.subject.map_or(String::new(), |subject| format!("{subject}: "));
    format!("{step}{subject}{}", progress.stage)
}

/// How long is left of a stage of which `done` of `total` took `elapsed`, in words that seldom change.
fn estimate(elapsed: Duration, done: u64, total: u64) -> String {
    if done == 0 || done > total {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() * (total - done) as f64 / done as f64;
    let (minutes, hours) = (seconds / 60.0, seconds / 3600.0);
    match () {
        () if seconds < 15.0 => "a few seconds left".into(),
        () if seconds < 50.0 => "less than a minute left".into(),
        () if minutes < 10.0 => format!("about {:.0} min left", minutes.max(1.0)),
        () if minutes < 90.0 => format!("about {:.0} min left", (minutes / 5.0).round() * 5.0),
        () if hours < 48.0 => format!("about {hours:.0} h left"),
        () => format!("about {:.0} days left", hours / 24.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_numbered_where_there_are_several() {
        let title = |step, subject| {
            titled(&Progress { stage: "fitting", done: 0, total: None, step, subject })
        };
        assert_eq!(title(Some((2, 5)), Some("rmls")), "[2/5] rmls: fitting");
        assert_eq!(title(Some((1, 1)), Some("rmls")), "rmls: fitting");
        assert_eq!(title(None, None), "fitting");
    }

    #[test]
    fn an_estimate_is_coarse() {
        let left = |elapsed, done, total| estimate(Duration::from_secs(elapsed), done, total);
        assert_eq!(left(10, 0, 100), "");
        assert_eq!(left(10, 50, 100), "a few seconds left");
        assert_eq!(left(10, 25, 100), "less than a minute left");
        assert_eq!(left(60, 50, 100), "about 1 min left");
        assert_eq!(left(60, 20, 100), "about 4 min left");
        assert_eq!((left(60, 20, 100), left(63, 20, 100)), (left(58, 20, 100), left(60, 20, 100)));
        assert_eq!(left(60, 4, 100), "about 25 min left");
        assert_eq!(left(3600, 1, 4), "about 3 h left");
        assert_eq!(left(3600, 1, 101), "about 4 days left");
        assert_eq!(left(10, 200, 100), "");
    }
}
