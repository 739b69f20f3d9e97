//! The messages of an all-reduce, and their dependences.
//!
//! The ring: P. Patarasu, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
//! JPDC 69, 2009. With n hosts the vector has n parts. In step s host i sends part i - s, which arrived in
//! step s - 1, to host i + 1. The first n - 1 steps are a reduce-scatter, the other n - 1 an all-gather.
//!
//! The tree: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
//! MPICH", IJHPCA 19, 2005. It is a reduction to the first host and a broadcast from it, on one tree filled
//! row by row. Segments make either a pipeline.
//!
//! Leaves out: several rings or trees at once, halving and doubling.

use incastle_scenario::language::collective::{Algorithm, AllReduce};
use incastle_scenario::topology::pairs::parent;

/// The dependences of an all-reduce. Streams are in the order of `topology::pairs::edges`.
pub(super) struct Pattern {
    hosts: usize,
    /// The segments of each message.
    segments: u64,
    shape: Shape,
}

enum Shape {
    Ring,
    Tree { degree: u32 },
}

/// A repeated task, done each time when its needs are met.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    pub(super) operation: Operation,
    /// The number of times it was done.
    pub(super) done: u64,
    /// The number of its needs that are met for the next time.
    pub(super) met: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// A stream sends its next message.
    Send(usize),
    /// A host has the sum of all below it, of one more segment.
    Reduce(usize),
    /// A host has everything of a round.
    Finish(usize),
}

/// An event count, by its number, and the value that it must have reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) count: usize,
    pub(super) value: u64,
}

impl Pattern {
    pub(super) fn new(all: &AllReduce, hosts: usize) -> Self {
        Self {
            hosts,
            segments: u64::from(all.segments),
            shape: match &all.algorithm {
                Algorithm::Ring(_) => Shape::Ring,
                Algorithm::Tree(tree) => Shape::Tree {
                    degree: tree.degree,
                },
            },
        }
    }

    pub(super) fn hosts(&self) -> usize {
        self.hosts
    }

    fn streams(&self) -> usize {
        match self.shape {
            Shape::Ring => self.hosts,
            Shape::Tree { .. } => 2 * (self.hosts - 1),
        }
    }

    /// The number of event counts.
    pub(super) fn counts(&self) -> usize {
        let reduced = match self.shape {
            Shape::Ring => 0,
            Shape::Tree { .. } => self.hosts,
        };
        self.hosts + self.streams() + reduced
    }

    /// The count of the rounds in which a host takes part.
    pub(super) const fn entered(host: usize) -> usize {
        host
    }

    /// The count of the messages of a stream that have arrived.
    pub(super) fn arrived(&self, stream: usize) -> usize {
        self.hosts + stream
    }

    /// The count of the segments of which a host has the sum of all below it.
    pub(super) fn reduced(&self, host: usize) -> usize {
        self.hosts + self.streams() + host
    }

    /// All tasks.
    pub(super) fn tasks(&self) -> Vec<Task> {
        let send = (0..self.streams()).map(Operation::Send);
        let reduce = (0..self.hosts).filter(|_| matches!(self.shape, Shape::Tree { .. }));
        let finish = (0..self.hosts).map(Operation::Finish);
        let operations = send.chain(reduce.map(Operation::Reduce)).chain(finish);
        let task = |operation| Task {
            operation,
            done: 0,
            met: 0,
        };
        operations.map(task).collect()
    }

    /// The next need of a task; none when all are met.
    pub(super) fn need(&self, task: &Task) -> Option<Need> {
        match self.shape {
            Shape::Ring => (task.met == 0).then(|| self.need_of_ring(task)),
            Shape::Tree { degree } => self.need_of_tree(task, degree),
        }
    }

    fn need_of_ring(&self, task: &Task) -> Need {
        let per_round = self.messages();
        let done = task.done;
        match task.operation {
            Operation::Send(host) => {
                let (round, message) = (done / per_round, done % per_round);
                match message.checked_sub(self.segments) {
                    None => Need {
                        count: Self::entered(host),
                        value: round + 1,
                    },
                    // The same segment, one step before.
                    Some(before) => Need {
                        count: self.arrived(self.previous(host)),
                        value: round * per_round + before + 1,
                    },
                }
            }
            Operation::Finish(host) => Need {
                count: self.arrived(self.previous(host)),
                value: (done + 1) * per_round,
            },
            Operation::Reduce(_) => unreachable!("a ring has no separate reduction"),
        }
    }

    fn need_of_tree(&self, task: &Task, degree: u32) -> Option<Need> {
        let need = |count, value| Some(Need { count, value });
        let done = task.done;
        match (task.operation, task.met) {
            (Operation::Reduce(host), 0) => need(Self::entered(host), done / self.segments + 1),
            (Operation::Reduce(host), child) => {
                let number = host * degree as usize + child;
                let is_child = child <= degree as usize && number < self.hosts;
                is_child.then(|| Need {
                    count: self.arrived(number - 1),
                    value: done + 1,
                })
            }
            (Operation::Send(stream), 0) => match stream.checked_sub(self.hosts - 1) {
                None => need(self.reduced(stream + 1), done + 1),
                Some(child) => need(self.summed(parent(child + 1, degree)), done + 1),
            },
            (Operation::Finish(host), 0) => need(self.summed(host), (done + 1) * self.segments),
            _ => None,
        }
    }

    /// The count of the segments of which a host of a tree has the sum of all hosts.
    fn summed(&self, host: usize) -> usize {
        match host {
            0 => self.reduced(0),
            _ => self.arrived(self.hosts - 1 + host - 1),
        }
    }

    /// The stream to a host of a ring.
    fn previous(&self, host: usize) -> usize {
        (host + self.hosts - 1) % self.hosts
    }

    /// Messages of each stream of a ring in a round.
    fn messages(&self) -> u64 {
        2 * (self.hosts as u64 - 1) * self.segments
    }

    /// The bytes of a message of a stream, counted from its first, where the vector has `size`.
    pub(super) fn bytes(&self, stream: usize, message: u64, size: u64) -> u64 {
        let segment = message % self.segments;
        let whole = match self.shape {
            Shape::Ring => {
                let step = message % self.messages() / self.segments;
                let hosts = self.hosts as u64;
                part(size, hosts, part_of_ring(stream as u64, step, hosts))
            }
            Shape::Tree { .. } => size,
        };
        part(whole, self.segments, segment)
    }
}

/// The part that a host of a ring sends in a step.
fn part_of_ring(host: u64, step: u64, hosts: u64) -> u64 {
    (host + 2 * hosts - step) % hosts
}

/// The bytes of one of `parts` parts, as even as possible.
fn part(bytes: u64, parts: u64, number: u64) -> u64 {
    bytes / parts + u64::from(number < bytes % parts)
}

#[cfg(test)]
mod tests {
    use incastle_units::{Bytes, Span};

    use super::*;
    use incastle_scenario::language::collective::{Ring, Tree};
    use incastle_scenario::language::limits::Rounds;
    use incastle_scenario::topology::pairs::edges;

    fn all_reduce(algorithm: Algorithm, segments: u32) -> AllReduce {
        AllReduce {
            size: Bytes::new(1),
            algorithm,
            segments,
            think_time: Span::ZERO,
            rounds: Rounds::Unlimited,
        }
    }

    /// Simulates two rounds, messages arriving in the order of `pick`; each host enters
    /// the second after it has finished the first.
    fn play(all: &AllReduce, hosts: usize, pick: impl Fn(usize) -> usize) -> Vec<u64> {
        let pattern = Pattern::new(all, hosts);
        let mut counts = vec![0_u64; pattern.counts()];
        let mut tasks = pattern.tasks();
        let mut under_way: Vec<usize> = Vec::new();
        let mut sent = vec![0; pattern.streams()];
        for host in 0..hosts {
            counts[Pattern::entered(host)] += 1;
        }
        loop {
            let mut idle = true;
            for task in &mut tasks {
                loop {
                    if let Some(need) = pattern.need(task) {
                        if counts[need.count] < need.value {
                            break;
                        }
                        task.met += 1;
                        continue;
                    }
                    match task.operation {
                        Operation::Send(stream) => {
                            under_way.push(stream);
                            sent[stream] += 1;
                        }
                        Operation::Reduce(host) => counts[pattern.reduced(host)] += 1,
                        Operation::Finish(host) => {
                            counts[Pattern::entered(host)] += u64::from(task.done == 0);
                        }
                    }
                    (task.done, task.met, idle) = (task.done + 1, 0, false);
                }
            }
            if !under_way.is_empty() {
                let stream = under_way.swap_remove(pick(under_way.len()));
                counts[pattern.arrived(stream)] += 1;
            } else if idle {
                break;
            }
        }
        let mut finished = tasks
            .iter()
            .filter(|task| matches!(task.operation, Operation::Finish(_)));
        assert!(
            finished.all(|task| task.done == 2),
            "both rounds are finished"
        );
        sent
    }

    /// Sums as sets of the hosts whose parts are in them: none comes twice, and all come everywhere.
    #[test]
    fn the_parts_of_a_ring_come_together_and_go_around() {
        for hosts in 2..=9_u64 {
            let n = hosts as usize;
            let mut sums: Vec<Vec<u64>> = (0..n).map(|host| vec![1 << host; n]).collect();
            for step in 0..2 * (hosts - 1) {
                let sent = (0..hosts).map(|host| {
                    let part = part_of_ring(host, step, hosts) as usize;
                    ((host as usize + 1) % n, part, sums[host as usize][part])
                });
                for (to, part, sum) in sent.collect::<Vec<_>>() {
                    let own = &mut sums[to][part];
                    assert!(
                        step >= hosts - 1 || *own & sum == 0,
                        "a part is summed twice"
                    );
                    *own |= sum;
                }
            }
            let whole = (1 << hosts) - 1;
            assert!(sums.iter().flatten().all(|sum| *sum == whole));
        }
    }

    #[test]
    fn messages_are_parts_that_make_the_whole() {
        let ring = Pattern::new(&all_reduce(Algorithm::Ring(Ring {}), 3), 4);
        // 50 bytes in 4 parts: 13, 13, 12, 12; those in 3 segments: 5, 4, 4 and 4, 4, 4. Host 1 sends
        // part 1, then part 0, then part 3.
        let bytes: Vec<u64> = (0..9).map(|message| ring.bytes(1, message, 50)).collect();
        assert_eq!(bytes, [5, 4, 4, 5, 4, 4, 4, 4, 4]);
        // Rounds have 2 x 3 x 3 messages.
        assert_eq!(ring.bytes(1, 18, 50), 5);
        let tree = Pattern::new(&all_reduce(Algorithm::Tree(Tree { degree: 2 }), 4), 3);
        let bytes: Vec<u64> = (0..5).map(|message| tree.bytes(3, message, 50)).collect();
        assert_eq!(bytes, [13, 13, 12, 12, 13]);
    }

    #[test]
    fn the_edges_of_a_tree_are_its_streams() {
        let degree = 2;
        let found = edges(&Algorithm::Tree(Tree { degree }), 4);
        let found: Vec<(usize, usize)> = found.iter().map(|edge| (edge.from, edge.to)).collect();
        assert_eq!(found, [(1, 0), (2, 0), (3, 1), (0, 1), (0, 2), (1, 3)]);
    }

    #[test]
    fn every_host_finishes_whatever_the_order_of_arrivals() {
        for hosts in [2, 3, 5, 8] {
            for segments in [1, 3] {
                let n = hosts as u64;
                let picks: [fn(usize) -> usize; 3] = [|_| 0, |count| count - 1, |count| count / 2];
                for pick in picks {
                    let ring = all_reduce(Algorithm::Ring(Ring {}), segments);
                    let each = 2 * 2 * (n - 1) * u64::from(segments);
                    assert_eq!(play(&ring, hosts, pick), vec![each; hosts]);
                    for degree in [1, 2, 7] {
                        let tree = all_reduce(Algorithm::Tree(Tree { degree }), segments);
                        let each = 2 * u64::from(segments);
                        assert_eq!(play(&tree, hosts, pick), vec![each; 2 * (hosts - 1)]);
                    }
                }
            }
        }
    }
}
