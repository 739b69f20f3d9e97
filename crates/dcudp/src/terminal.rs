//! Terminal output: results, warnings, sizes, progress.
//!
//! Results go to standard output, everything else to standard error. A closed pipe is no
//! error. Control characters in text from a peer are replaced before it is shown.

use std::fmt::{self, Display};
use std::io::{self, ErrorKind, IsTerminal, Write, stderr, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::printable::reason;

/// Whether anything of the result could not be written.
static INCOMPLETE: AtomicBool = AtomicBool::new(false);

/// A line of the result.
pub fn print(line: impl Display) {
    let mut out = stdout().lock();
    check_output(writeln!(out, "{line}").and_then(|()| out.flush()));
}

/// Tells once that the result could not be written. Whoever closed the pipe has read enough.
pub fn check_output(written: io::Result<()>) {
    let Err(problem) = written else { return };
    if problem.kind() != ErrorKind::BrokenPipe && !INCOMPLETE.swap(true, Ordering::Relaxed) {
        error(format_args!("standard output: {}", reason(&problem)));
    }
}

/// Whether all of the result was written, or nobody wanted it any more.
pub fn output_is_whole() -> bool {
    !INCOMPLETE.load(Ordering::Relaxed)
}

/// A line on standard error.
pub fn note(line: impl Display) {
    writeln!(stderr().lock(), "{line}").ok();
}

/// A line about something that may surprise.
pub fn warn(line: impl Display) {
    note(format_args!("warning: {line}"));
}

/// A line about what went wrong.
pub fn error(line: impl Display) {
    note(format_args!("error: {line}"));
}

/// A bar for one file, where standard error is a terminal.
pub fn progress_bar(name: &str, size: u64) -> ProgressBar {
    if !stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(size), ProgressDrawTarget::stderr());
    let template = "{msg} {wide_bar} {done}/{all} {rate} {eta}";
    let style = ProgressStyle::with_template(template).expect("the template is well-formed");
    // As in the result.
    let of = |text: fn(&ProgressState) -> String| {
        move |state: &ProgressState, to: &mut dyn fmt::Write| {
            to.write_str(&text(state)).ok();
        }
    };
    let style = style
        .with_key("done", of(|state| bytes_lossy(state.pos())))
        .with_key("all", of(|state| bytes_lossy(state.len().unwrap_or(0))))
        .with_key("rate", of(|state| scaled(state.per_sec() * 8.0, &RATES)));
    bar.set_style(style);
    bar.set_message(name.to_owned());
    bar
}

/// "1 file", "2 files".
pub fn counted(count: usize, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// A unit, and how much of the smallest one it is.
struct Unit {
    name: &'static str,
    factor: f64,
}

const fn unit(name: &'static str, factor: f64) -> Unit {
    Unit { name, factor }
}

const SIZES: [Unit; 5] = [
    unit("TB", 1e12),
    unit("GB", 1e9),
    unit("MB", 1e6),
    unit("KB", 1e3),
    unit("B", 1.0),
];

/// "1.25 GB".
pub fn bytes_lossy(bytes: u64) -> String {
    scaled(bytes as f64, &SIZES)
}

const RATES: [Unit; 5] = [
    unit("Tbit/s", 1e12),
    unit("Gbit/s", 1e9),
    unit("Mbit/s", 1e6),
    unit("kbit/s", 1e3),
    unit("bit/s", 1.0),
];

/// "8.91 Gbit/s": bytes in a time.
pub fn rate_lossy(bytes: u64, time: Duration) -> String {
    scaled(bits_per_second_lossy(bytes, time), &RATES)
}

/// Bits per second; 0 where no time has passed.
pub fn bits_per_second_lossy(bytes: u64, time: Duration) -> f64 {
    if time.is_zero() {
        return 0.0;
    }
    bytes as f64 * 8.0 / time.as_secs_f64()
}

/// Three digits, or the whole number of the smallest unit.
fn scaled(value: f64, units: &[Unit]) -> String {
    // A value that would round to 1000 of a unit is 1 of the next.
    let found = units.iter().find(|unit| value / unit.factor >= 0.9995);
    let Some(Unit { name, factor }) = found.or(units.last()) else {
        return value.to_string();
    };
    let value = value / factor;
    let digits = match value {
        _ if *factor <= 1.0 => 0,
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_rates_have_three_digits() {
        let sizes = [
            0,
            1,
            999,
            1000,
            1250,
            99_960,
            999_999,
            1_000_000,
            12_345_678_901,
        ];
        let shown = sizes.map(bytes_lossy);
        let wanted = [
            "0 B", "1 B", "999 B", "1.00 KB", "1.25 KB", "100 KB", "1.00 MB", "1.00 MB", "12.3 GB",
        ];
        assert_eq!(shown, wanted);
        // 125 MB in a second are 1 Gbit/s.
        assert_eq!(
            rate_lossy(125_000_000, Duration::from_secs(1)),
            "1.00 Gbit/s"
        );
        assert_eq!(rate_lossy(1, Duration::ZERO), "0 bit/s");
    }
}
