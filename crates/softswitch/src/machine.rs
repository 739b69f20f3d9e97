//! The processor time that the host of a virtual machine took away ("steal" in /proc/stat).

use std::fs;

/// The scheduler's ticks of /proc/stat: Linux reports them at 100 Hz to programs, whatever its own rate.
const TICK_S: f64 = 0.01;
/// The place of steal among the numbers of the first line (proc(5)).
const STEAL: usize = 7;

/// Seconds of all processors together that the host took away since the machine started; none where Linux does not tell.
pub(crate) fn stolen_s() -> Option<f64> {
    stolen_in(&fs::read_to_string("/proc/stat").ok()?)
}

fn stolen_in(stat: &str) -> Option<f64> {
    let mut words = stat.lines().next()?.split_whitespace();
    (words.next()? == "cpu").then_some(())?;
    let ticks: u64 = words.nth(STEAL)?.parse().ok()?;
    Some(ticks as f64 * TICK_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_number() {
        let stat = "cpu  10 20 30 40 50 60 70 250 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(stolen_in(stat), Some(2.5));
        assert_eq!(stolen_in("intr 5"), None);
        assert_eq!(stolen_in("cpu 1 2"), None);
    }
}
