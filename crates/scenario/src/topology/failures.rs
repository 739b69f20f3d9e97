//! Failures of links: from `[network.failures]` to the layout.

use incastle_units::Span;

use crate::language::network::Failure;
use crate::text::context::Context;
use crate::topology::between::Wanted;
use crate::topology::plan::Plan;

/// Start and end.
type Period = (Span, Option<Span>);

impl Plan {
    /// Adds a failure to its links; errors in it are reported.
    pub(super) fn fail(&mut self, label: &str, failure: &Failure, cx: &mut Context<'_>) {
        let path = format!("network.failures.{label}");
        if let Some(up) = failure.up.filter(|up| *up <= failure.down) {
            cx.error_at(
                &format!("{path}.up"),
                format!("up at {up} is not after down at {}", failure.down),
            );
            return;
        }
        let wanted = Wanted {
            sets: &failure.between,
            number: failure.number,
            what: "a failure",
        };
        let links = self.between(&wanted, &path, cx);
        for chosen in links.unwrap_or_default() {
            let link = &mut self.links[chosen.link];
            link.failures.push((failure.down, failure.up));
            link.failures = joined(std::mem::take(&mut link.failures));
        }
    }
}

/// The same periods in order, with overlapping and adjacent ones merged.
fn joined(mut periods: Vec<Period>) -> Vec<Period> {
    periods.sort_unstable();
    let mut all: Vec<Period> = Vec::new();
    for (down, up) in periods {
        match all.last_mut() {
            // Down for good, or until after this one begins.
            Some((_, until)) if until.is_none_or(|until| down <= until) => {
                *until = until.and_then(|until| up.map(|up| up.max(until)));
            }
            _ => all.push((down, up)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_that_overlap_are_one() {
        let us = Span::from_us;
        let period = |down, up: Option<u64>| (us(down), up.map(us));
        let join = |periods: &[(u64, Option<u64>)]| {
            joined(periods.iter().map(|&(down, up)| period(down, up)).collect())
        };
        assert_eq!(
            join(&[(5, Some(7)), (1, Some(2))]),
            [period(1, Some(2)), period(5, Some(7))]
        );
        assert_eq!(
            join(&[(1, Some(5)), (2, Some(3)), (5, Some(8))]),
            [period(1, Some(8))]
        );
        assert_eq!(
            join(&[(3, None), (1, Some(3)), (9, Some(10))]),
            [period(1, None)]
        );
    }
}
