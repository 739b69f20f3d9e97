//! The tables of a finished run that explanations need besides the record.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;

use crate::columns::{Malformed, reals, texts, value, wholes};
use crate::explanation::Explanation;
use crate::outages::Outages;
use crate::trace::Trace;

/// Data of other queue pairs in a record, in bytes.
const MAX_BYTES: u64 = 100_000_000;

/// A row of the table `flows`.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) group: String,
    index: u64,
    pub(crate) hosts: [String; 2],
    pub(crate) started_s: f64,
    completed_s: Option<f64>,
    delivered_bytes: u64,
}

/// A row of the table `transfers`.
#[derive(Debug)]
pub(crate) struct Transfer {
    flow: u64,
    pub(crate) kind: String,
    pub(crate) bytes: u64,
    pub(crate) started_s: f64,
    pub(crate) completed_s: Option<f64>,
}

/// The instants of a run, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Instants {
    /// Its end.
    pub simulated_s: f64,
    /// Begin and end of the measured interval.
    pub measured_s: [f64; 2],
}

/// A finished run.
#[derive(Debug)]
pub struct Run {
    pub(crate) flows: Vec<Flow>,
    transfers: Vec<Transfer>,
    pub(crate) instants: Instants,
    /// The complete scenario.
    pub(crate) scenario: String,
    pub(crate) outages: Outages,
}

impl Run {
    /// Reads the tables `flows` and `transfers`; `scenario` is the complete scenario of the run.
    pub fn read(
        flows: &[RecordBatch],
        transfers: &[RecordBatch],
        instants: Instants,
        scenario: String,
    ) -> Result<Self, Malformed> {
        let mut run = Self {
            flows: Vec::new(),
            transfers: Vec::new(),
            instants,
            outages: Outages::of(&scenario),
            scenario,
        };
        for batch in flows {
            run.add_flows(batch)?;
        }
        for batch in transfers {
            run.add_transfers(batch)?;
        }
        Ok(run)
    }

    fn add_flows(&mut self, batch: &RecordBatch) -> Result<(), Malformed> {
        let (groups, indices) = (texts(batch, "group")?, wholes(batch, "index")?);
        let (from, to) = (texts(batch, "from")?, texts(batch, "to")?);
        let (started, completed) = (reals(batch, "started_s")?, reals(batch, "completed_s")?);
        let delivered = wholes(batch, "delivered_bytes")?;
        self.flows.extend((0..batch.num_rows()).map(|row| Flow {
            group: groups.at(row).to_owned(),
            index: indices.value(row),
            hosts: [from.at(row).to_owned(), to.at(row).to_owned()],
            started_s: started.value(row),
            completed_s: value(completed, row),
            delivered_bytes: delivered.value(row),
        }));
        Ok(())
    }

    fn add_transfers(&mut self, batch: &RecordBatch) -> Result<(), Malformed> {
        let (flows, kinds) = (wholes(batch, "flow")?, texts(batch, "kind")?);
        let (started, completed) = (reals(batch, "started_s")?, reals(batch, "completed_s")?);
        let bytes = wholes(batch, "bytes")?;
        // A round of several flows is no transfer of one.
        let own = (0..batch.num_rows()).filter(|&row| kinds.at(row) != "round");
        self.transfers.extend(own.map(|row| Transfer {
            flow: flows.value(row),
            kind: kinds.at(row).to_owned(),
            bytes: bytes.value(row),
            started_s: started.value(row),
            completed_s: value(completed, row),
        }));
        Ok(())
    }

    /// GROUP:INDEX.
    pub fn name(&self, flow: u64) -> String {
        let flow = &self.flows[flow as usize];
        format!("{}:{}", flow.group, flow.index)
    }

    /// Some transfers, the slowest first; those not complete have lasted until the end. Only those that began in the
    /// measured interval count, if there are any.
    fn slowest_first(&self, is_wanted: impl Fn(&Transfer) -> bool) -> Vec<&Transfer> {
        let [from, to] = self.instants.measured_s;
        let is_measured = |one: &&Transfer| from <= one.started_s && one.started_s < to;
        let mut found: Vec<_> = self.transfers.iter().filter(|one| is_wanted(one)).collect();
        if found.iter().any(is_measured) {
            found.retain(is_measured);
        }
        found.sort_by(|a, b| self.lasted_s(b).total_cmp(&self.lasted_s(a)));
        found
    }

    fn lasted_s(&self, one: &Transfer) -> f64 {
        one.completed_s.unwrap_or(self.instants.simulated_s) - one.started_s
    }

    /// The slowest transfer of a flow.
    pub(crate) fn slowest(&self, flow: u64) -> Option<&Transfer> {
        self.slowest_first(|one| one.flow == flow)
            .into_iter()
            .next()
    }

    /// The flows with transfers, of one group or of all, that with the slowest transfer first.
    pub fn by_time(&self, group: Option<&str>) -> Vec<u64> {
        let is_wanted =
            |one: &Transfer| group.is_none_or(|group| self.flows[one.flow as usize].group == group);
        let mut known = BTreeSet::new();
        let flows = self
            .slowest_first(is_wanted)
            .into_iter()
            .map(|one| one.flow);
        flows.filter(|flow| known.insert(*flow)).collect()
    }

    /// How long the slowest transfer took, or has lasted, in seconds; 0 if there is none.
    pub fn longest_s(&self) -> f64 {
        let slowest = self.slowest_first(|_| true);
        slowest.first().map_or(0.0, |one| self.lasted_s(one))
    }

    /// The number of a flow: named by its number, as GROUP:INDEX, or GROUP for its slowest.
    pub fn numbered(&self, name: &str) -> Option<u64> {
        let place = |is_wanted: &dyn Fn(&Flow) -> bool| self.flows.iter().position(is_wanted);
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let found = if let Some((group, index)) = name.split_once(':') {
            let index: u64 = index.parse().ok().filter(|_| digits(index))?;
            place(&|flow| flow.index == index && flow.group == group)
        } else if let Some(first) = place(&|flow| flow.group == name) {
            return self
                .by_time(Some(name))
                .first()
                .copied()
                .or(Some(first as u64));
        } else {
            let number: usize = name.parse().ok().filter(|_| digits(name))?;
            Some(number).filter(|number| *number < self.flows.len())
        };
        found.map(|place| place as u64)
    }

    /// The other queue pairs of the hosts of some flows that a record is to have, too: of those that lived at the same
    /// time, as long as they have no more than 100 MB together, the longest overlap first. `queue_pairs` is the
    /// table of that name, empty if the run has none.
    pub fn neighbours(
        &self,
        queue_pairs: &[RecordBatch],
        flows: &[u64],
    ) -> Result<Vec<u64>, Malformed> {
        let mut near: Vec<(u64, f64)> = Vec::new();
        let mut pairs = Vec::new();
        for batch in queue_pairs {
            pairs.extend_from_slice(wholes(batch, "flow")?.values());
        }
        let own: Vec<u64> = pairs
            .iter()
            .copied()
            .filter(|one| flows.contains(one))
            .collect();
        for &flow in pairs.iter().filter(|one| !flows.contains(one)) {
            let overlaps = own.iter().filter_map(|&own| self.overlap(flow, own));
            if let Some(longest) = overlaps.reduce(f64::max) {
                near.push((flow, longest));
            }
        }
        near.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut bytes = 0;
        let fitting = near.into_iter().take_while(|(flow, _)| {
            bytes += self.flows[*flow as usize].delivered_bytes;
            bytes <= MAX_BYTES
        });
        Ok(fitting.map(|(flow, _)| flow).collect())
    }

    /// How long two flows of one host lived at the same time, in seconds.
    fn overlap(&self, one: u64, other: u64) -> Option<f64> {
        let [one, other] = [one, other].map(|flow| &self.flows[flow as usize]);
        let ended = |flow: &Flow| flow.completed_s.unwrap_or(self.instants.simulated_s);
        let overlap = ended(one).min(ended(other)) - one.started_s.max(other.started_s);
        (one.hosts[0] == other.hosts[0] && overlap > 0.0).then_some(overlap)
    }

    /// Explains a flow: of several transfers on it the slowest. `all_timeouts`: also the timeouts of the others.
    pub fn explain<'a>(
        &'a self,
        trace: &'a Trace,
        flow: u64,
        all_timeouts: bool,
    ) -> Result<Explanation<'a>, Malformed> {
        Explanation::new(self, trace, flow, all_timeouts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(from: &str, started_s: f64, completed_s: Option<f64>, delivered_bytes: u64) -> Flow {
        Flow {
            group: "one".to_owned(),
            index: 0,
            hosts: [from.to_owned(), "receiver".to_owned()],
            started_s,
            completed_s,
            delivered_bytes,
        }
    }

    fn transfer(started_s: f64, completed_s: Option<f64>) -> Transfer {
        Transfer {
            flow: 0,
            kind: "response".to_owned(),
            bytes: 1_000,
            started_s,
            completed_s,
        }
    }

    /// Ten seconds, measured from the first to the ninth.
    fn run(flows: Vec<Flow>, transfers: Vec<Transfer>) -> Run {
        Run {
            flows,
            transfers,
            instants: Instants {
                simulated_s: 10.0,
                measured_s: [1.0, 9.0],
            },
            scenario: String::new(),
            outages: Outages::default(),
        }
    }

    #[test]
    fn the_slowest_transfer_of_the_measured_interval_is_explained() {
        let began = |transfers: Vec<Transfer>| {
            run(Vec::new(), transfers)
                .slowest(0)
                .map(|one| one.started_s)
        };
        // 4 s before the interval, 2 and 3 s in it.
        let of_three = [(0.0, 4.0), (5.0, 7.0), (6.0, 9.0)];
        let of_three = of_three.map(|(start, end)| transfer(start, Some(end)));
        assert_eq!(began(of_three.into()), Some(6.0));
        // The second one has lasted for 8 s.
        assert_eq!(
            began(vec![transfer(1.0, Some(4.0)), transfer(2.0, None)]),
            Some(2.0)
        );
        // The first of two that are as slow; one outside of the interval only where nothing is in it.
        assert_eq!(
            began(vec![transfer(9.0, None), transfer(9.5, Some(10.5))]),
            Some(9.0)
        );
        assert_eq!(began(Vec::new()), None);
    }

    #[test]
    fn a_flow_has_several_names() {
        let of_group = |group: &str, index| Flow {
            group: group.to_owned(),
            index,
            ..flow("a", 0.0, None, 0)
        };
        let flows = vec![of_group("one", 0), of_group("two", 0), of_group("two", 1)];
        let slow = Transfer {
            flow: 2,
            ..transfer(2.0, None)
        };
        let run = run(flows, vec![transfer(2.0, Some(3.0)), slow]);
        assert_eq!(
            ["1", "two:0", "two", "one"].map(|name| run.numbered(name)),
            [1, 1, 2, 0].map(Some)
        );
        assert_eq!(
            ["3", "two:2", "three", "+1", "two:+1", ""].map(|name| run.numbered(name)),
            [None; 6]
        );
        assert_eq!((run.by_time(None), run.longest_s()), (vec![2, 0], 8.0));
    }

    #[test]
    fn neighbours_are_of_one_host_and_one_time() {
        let flows = vec![
            flow("a", 2.0, Some(6.0), 1),
            flow("a", 5.0, None, MAX_BYTES - 1),
            flow("a", 0.0, Some(4.0), 1),
            flow("b", 0.0, None, 1),
            flow("a", 6.0, None, 1),
            flow("a", 5.5, None, 1),
        ];
        let run = run(flows, Vec::new());
        let numbers = arrow_array::UInt64Array::from_iter_values(0..6);
        let table = RecordBatch::try_from_iter([("flow", std::sync::Arc::new(numbers) as _)]);
        let pairs = [table.expect("it has one column")];
        // Overlaps with flow 0: 2 s of flow 2, 1 s of flow 1, 0.5 s of flow 5, which exceeds the bytes.
        assert_eq!(run.neighbours(&pairs, &[0]), Ok(vec![2, 1]));
        assert_eq!(run.neighbours(&[], &[0]), Ok(Vec::new()));
    }
}
