//! Cases of HPCC's ns-3 simulator: a configuration, a topology, flows, and the FCTs that it gave.
//!
//! Two layouts: `NAME.conf` with `NAME.csv`, and folders. Leaves out: mistakes in the files, which panic here.
#![expect(clippy::disallowed_methods, reason = "the cases are files")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use incastle_units::{Rate, Span, Time, ns3};

/// The keys of a configuration.
pub(super) struct Keys(BTreeMap<String, Vec<String>>);

impl Keys {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a configuration is there");
        let line = |line: &str| {
            let mut words = line.split_whitespace().map(str::to_owned);
            Some((words.next()?, words.collect()))
        };
        Self(text.lines().filter_map(line).collect())
    }

    pub(super) fn number(&self, key: &str) -> f64 {
        self.0[key][0].parse().expect("a number")
    }

    pub(super) fn whole(&self, key: &str) -> u64 {
        self.number(key) as u64
    }

    pub(super) fn is_set(&self, key: &str) -> bool {
        self.whole(key) > 0
    }

    pub(super) fn rate(&self, key: &str) -> Rate {
        let mbit: f64 = self.0[key][0]
            .trim_end_matches("Mb/s")
            .parse()
            .expect("a rate in Mb/s");
        Rate::from_bits_per_second((mbit * 1e6) as u64)
    }

    pub(super) fn microseconds(&self, key: &str) -> Span {
        Span::from_us(self.whole(key))
    }

    /// The value of a map from rates; zero where it has none for this rate, as in the simulator.
    pub(super) fn at_rate(&self, key: &str, rate: Rate) -> f64 {
        let mut pairs = self.0[key][1..].chunks(2);
        let of = pairs.find(|pair| pair[0] == rate.bits_per_second().to_string());
        of.map_or(0.0, |pair| pair[1].parse().expect("a number"))
    }

    pub(super) fn stop(&self) -> Time {
        // The default of third.cc.
        let text = self.0.get("SIMULATOR_STOP_TIME");
        let seconds = text.map_or(3.01, |words| words[0].parse().expect("seconds"));
        Time::ZERO + ns3::seconds(seconds)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) nodes: [usize; 2],
    pub(super) rate: Rate,
    pub(super) delay: Span,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Flow {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) priority: u8,
    pub(super) bytes: u64,
    pub(super) start: Time,
    /// The FCT of the simulator, where the flow finished.
    pub(super) fct: Option<Span>,
    /// Its FCT without other flows, by the simulator's formula.
    pub(super) ideal: Span,
}

pub(super) struct Case {
    pub(super) name: String,
    pub(super) keys: Keys,
    pub(super) nodes: usize,
    pub(super) switches: Vec<usize>,
    pub(super) links: Vec<Link>,
    pub(super) flows: Vec<Flow>,
}

/// A start as the simulator reads it from its text.
fn start(text: &str) -> Time {
    Time::ZERO + ns3::seconds(text.parse().expect("seconds"))
}

fn gbit(text: &str) -> Rate {
    let number: u64 = text.trim_end_matches("Gbps").parse().expect("a rate");
    Rate::from_bits_per_second(number * 1_000_000_000)
}

impl Case {
    /// `NAME.conf` with `NAME.csv`: three hosts at one switch.
    fn shard(path: &Path) -> Self {
        let rows = fs::read_to_string(path.with_extension("csv")).expect("flows are there");
        let flow = |row: &str| {
            let fields: Vec<u64> = row
                .split(',')
                .map(|field| field.parse().expect("a number"))
                .collect();
            let [seconds, ns] = [fields[4] / 1_000_000_000, fields[4] % 1_000_000_000];
            Flow {
                from: fields[1] as usize,
                to: fields[2] as usize,
                priority: 3,
                bytes: fields[3],
                start: start(&format!("{seconds}.{ns:09}")),
                fct: Some(Span::from_ns(fields[5])),
                ideal: Span::from_ns(fields[6]),
            }
        };
        let link = |host, rate| Link {
            nodes: [host, 3],
            rate: gbit(rate),
            delay: Span::from_us(1),
        };
        Self {
            name: name_of(path),
            keys: Keys::read(path),
            nodes: 4,
            switches: vec![3],
            links: vec![link(0, "10Gbps"), link(1, "100000Gbps"), link(2, "10Gbps")],
            flows: rows.lines().skip(1).map(flow).collect(),
        }
    }

    /// A folder with `config.txt`, `topology.txt`, `flows.txt` and `fct.csv`.
    fn folder(path: &Path) -> Self {
        let read = |name| fs::read_to_string(path.join(name)).expect("a case has its files");
        let topology = read("topology.txt");
        let mut words = topology.split_whitespace();
        let mut number = || {
            words
                .next()
                .expect("a word")
                .parse::<usize>()
                .expect("a number")
        };
        let [nodes, switches, _] = [number(), number(), number()];
        let switches = (0..switches).map(|_| number()).collect();
        let links = topology.lines().skip(2).filter(|line| !line.is_empty());
        let link = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ns = words[3].trim_end_matches("ns").parse().expect("a delay");
            Link {
                nodes: [0, 1].map(|place| words[place].parse().expect("a node")),
                rate: gbit(words[2]),
                delay: Span::from_ns(ns),
            }
        };
        let fcts = read("fct.csv");
        let fcts = fcts.lines().skip(1);
        let field = |row: &str, place| row.split(',').nth(place)?.parse().ok().map(Span::from_ns);
        let result = |row| (field(row, 5), field(row, 6).expect("an ideal FCT"));
        let flows = read("flows.txt");
        let flows = flows.lines().skip(1).filter(|line| !line.is_empty());
        let flow = |(line, (fct, ideal)): (&str, (Option<Span>, Span))| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let field = |place: usize| words[place].parse::<u64>().expect("a number");
            Flow {
                from: field(1) as usize,
                to: field(2) as usize,
                priority: field(3) as u8,
                bytes: field(5),
                start: start(words[6]),
                fct,
                ideal,
            }
        };
        Self {
            name: name_of(path),
            keys: Keys::read(&path.join("config.txt")),
            nodes,
            switches,
            links: links.map(link).collect(),
            flows: flows.zip(fcts.map(result)).map(flow).collect(),
        }
    }

    /// All cases of a folder, in either layout, in the order of their names.
    pub(super) fn all(folder: &Path) -> Vec<Self> {
        let entries = fs::read_dir(folder).expect("a folder of cases");
        let mut paths: Vec<PathBuf> = entries
            .map(|entry| entry.expect("an entry").path())
            .collect();
        paths.sort();
        let case = |path: PathBuf| {
            if path.is_dir() {
                Some(Self::folder(&path))
            } else {
                (path.extension()? == "conf").then(|| Self::shard(&path))
            }
        };
        paths.into_iter().filter_map(case).collect()
    }

    pub(super) fn is_switch(&self, node: usize) -> bool {
        self.switches.contains(&node)
    }

    /// The rate of the link of a host.
    pub(super) fn line_rate(&self, host: usize) -> Rate {
        let link = self.links.iter().find(|link| link.nodes.contains(&host));
        link.expect("a host has a link").rate
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_stem().expect("a case has a name");
    name.to_string_lossy().into_owned()
}
