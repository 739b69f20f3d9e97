//! The command line of `dcudp`.

use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, ArgAction, Args, Parser, Subcommand};
use incastle_socket::{Control, OwnControl};
use incastle_units::{Bytes, Rate, Span};

use crate::address::{HostPort, PORT, Protection};
use crate::error::Failure;
use crate::protocol::{MAX_BENCH_MILLIS, MAX_PING, Name};

/// Moves data inside a data center over UDT and DCUDP.
#[derive(Debug, Parser)]
#[command(name = "dcudp", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Tell more on standard error; twice, everything.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

const EXAMPLES: &str = "\
Examples:
  dcudp serve /srv/data
  dcudp send big.bin 127.0.0.1:9000
  dcudp get 127.0.0.1:9000 big.bin --into /tmp
  dcudp key > my.key
  dcudp send --help

Exit status: 0 done, 1 a transfer failed, 2 bad input, 130 interrupted.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the files of a directory, and take in files for it.
    Serve(Serve),
    /// Send files to a server.
    Send(Send),
    /// Get files from a server.
    Get(Get),
    /// Measure throughput between two machines.
    Bench(Bench),
    /// Measure round-trip times on one connection.
    Ping(Ping),
    /// Print a new key for --key-file.
    Key,
}

impl Command {
    /// How its connections are made, if it has any.
    pub const fn link_mut(&mut self) -> Option<&mut LinkArguments> {
        match self {
            Self::Serve(serve) => Some(&mut serve.link),
            Self::Send(send) => Some(&mut send.link),
            Self::Get(get) => Some(&mut get.link),
            Self::Bench(bench) => Some(&mut bench.link),
            Self::Ping(ping) => Some(&mut ping.link),
            Self::Key => None,
        }
    }
}

/// How a connection is made, and what protects it.
#[derive(Debug, Clone, Args)]
pub struct LinkArguments {
    /// Congestion control, or a class of Python as FILE.py:CLASS.
    #[arg(long, value_name = "CONTROL", default_value = "dcudp", value_parser = ControlParser)]
    pub cc: Control,
    /// A control of the program's own, for `Control::Own`.
    #[arg(skip)]
    pub own: Option<OwnControl>,
    /// Rate of this machine's network interface, IP headers included [default: that of the system, else 10 Gbit/s].
    #[arg(long, value_name = "RATE", value_parser = positive_rate)]
    pub capacity: Option<Rate>,
    /// Largest IP packet.
    #[arg(long, value_name = "SIZE", default_value = "1500 B", value_parser = quantity::<Bytes>)]
    pub mtu: Bytes,
    /// Encrypt and authenticate with the key in this file, the same at both endpoints.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Use other addresses than this machine's own without a key.
    #[arg(long, conflicts_with = "key_file")]
    pub insecure: bool,
}

impl LinkArguments {
    /// The protection that the options select.
    pub const fn protection(&self) -> Protection {
        match (&self.key_file, self.insecure) {
            (Some(_), _) => Protection::Key,
            (None, true) => Protection::Insecure,
            (None, false) => Protection::Unspecified,
        }
    }
}

/// `dcudp serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dcudp serve /srv/data
  dcudp serve /srv/data --listen 10.0.0.1:9000 --key-file my.key
  dcudp serve /srv/data --read-only

Without --key-file it listens on this machine's own address only; --insecure --listen 0.0.0.0:9000
opens it to everybody.
Nothing outside DIR is read or written; symbolic links in it are not followed.")]
pub struct Serve {
    /// The directory.
    pub dir: PathBuf,
    /// Where to listen [default: 127.0.0.1:9000; with --key-file 0.0.0.0:9000].
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address)]
    pub listen: Option<SocketAddr>,
    /// Take in no files.
    #[arg(long)]
    pub read_only: bool,
    /// Let senders replace files (send --force).
    #[arg(long, conflicts_with = "read_only")]
    pub replace: bool,
    /// Connections at the same time.
    #[arg(long, value_name = "N", default_value = "64", value_parser = clap::value_parser!(u16).range(1..))]
    pub max_connections: u16,
    /// Connections at the same time from one address (of IPv6: one network of 64 bits) [default: a quarter of --max-connections].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub max_per_address: Option<u16>,
    /// Where others wait: end the connection that is idle longest, if it has been for this long (no file under way; pings do not count).
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = time)]
    pub evict_after: Duration,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would print it")]
    pub link: LinkArguments,
}

/// `dcudp send`.
#[derive(Debug, Args)]
#[command(
    override_usage = "dcudp send [OPTIONS] <FILE>... <HOST:PORT>",
    after_help = "\
Examples:
  dcudp send big.bin 127.0.0.1:9000
  dcudp send *.parquet node7:9000 --key-file my.key

A file that was cut short goes on where it stopped when the same command is given again."
)]
pub struct Send {
    /// The files, each called by the last part of its path there, and behind them the server.
    // One list: of two, clap would end the first at an option that stands between them.
    #[arg(required = true, value_name = "FILE... HOST:PORT")]
    pub files_and_peer: Vec<OsString>,
    /// Replace files of other contents, where the server allows it.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would print it")]
    pub link: LinkArguments,
}

impl Send {
    /// The files, and the server behind them.
    pub fn files_and_peer(&self) -> Result<(Vec<PathBuf>, HostPort), Failure> {
        let wrong = |message: String| Failure::Input(format!("the server comes last: {message}"));
        let (peer, files) = self.files_and_peer.split_last().expect("clap requires one");
        let text = peer.to_string_lossy();
        if Path::new(peer).is_file() {
            return Err(wrong(format!("'{text}' is a file, not HOST or HOST:PORT")));
        }
        let peer: HostPort = text.parse().map_err(wrong)?;
        if files.is_empty() {
            let message = format!("which files shall go to {peer}? They stand before it");
            return Err(Failure::Input(message));
        }
        Ok((files.iter().map(PathBuf::from).collect(), peer))
    }
}

/// `dcudp get`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dcudp get 127.0.0.1:9000 big.bin
  dcudp get node7:9000 runs/a.parquet runs/b.parquet --into results --key-file my.key

A file that was cut short goes on where it stopped when the same command is given again.")]
pub struct Get {
    /// The server; without a port 9000.
    #[arg(value_name = "HOST:PORT")]
    pub peer: HostPort,
    /// The files, as paths in the server's directory; each is saved under the last part of its path.
    #[arg(required = true, value_name = "NAME", value_parser = name)]
    pub names: Vec<Name>,
    /// Where to put them; a folder that is not there is made.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub into: PathBuf,
    /// Replace files of other contents.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would print it")]
    pub link: LinkArguments,
}

/// `dcudp bench`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dcudp bench --serve --listen 10.0.0.1:9000 --insecure
  dcudp bench 10.0.0.1:9000 --insecure --time '10 s' --cc udt
  dcudp bench 10.0.0.1:9000 --insecure --reverse --rate '2 Gbit/s' --json")]
pub struct Bench {
    /// The server, which runs dcudp bench --serve.
    #[arg(value_name = "HOST:PORT", required_unless_present = "serve")]
    pub peer: Option<HostPort>,
    /// Be the peer of measurements; it serves no files.
    #[arg(long, conflicts_with_all = ["peer", "time", "interval", "rate", "reverse", "json"])]
    pub serve: bool,
    /// With --serve: where to listen [default: 127.0.0.1:9000; with --key-file 0.0.0.0:9000].
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address, requires = "serve", conflicts_with = "peer")]
    pub listen: Option<SocketAddr>,
    /// How long.
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = bench_time)]
    pub time: Duration,
    /// The interval of lines.
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = bench_time)]
    pub interval: Duration,
    /// No more than this [default: as fast as it goes].
    #[arg(long, value_name = "RATE", value_parser = positive_rate)]
    pub rate: Option<Rate>,
    /// The server sends.
    #[arg(long)]
    pub reverse: bool,
    /// Print JSON on standard output, only that.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would print it")]
    pub link: LinkArguments,
}

/// `dcudp ping`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dcudp ping 127.0.0.1:9000
  dcudp ping 10.0.0.1:9000 --insecure --count 10000 --interval '0 s' --json")]
pub struct Ping {
    /// The server, dcudp serve or dcudp bench --serve.
    #[arg(value_name = "HOST:PORT")]
    pub peer: HostPort,
    /// How many.
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..))]
    pub count: u32,
    /// The interval of pings; at 0 each follows the one before at once, with a summary only.
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = ping_interval)]
    pub interval: Duration,
    /// Bytes in each.
    #[arg(long, value_name = "SIZE", default_value = "64 B", value_parser = ping_size)]
    pub size: usize,
    /// Print JSON on standard output, only that.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would print it")]
    pub link: LinkArguments,
}

fn quantity<T>(text: &str) -> Result<T, String>
where
    T: std::str::FromStr<Err = incastle_units::ParseUnitError>,
{
    text.parse().map_err(|error: T::Err| match error.help() {
        Some(help) => format!("{}; {help}", error.message()),
        None => error.message(),
    })
}

fn positive_rate(text: &str) -> Result<Rate, String> {
    let rate = quantity::<Rate>(text)?;
    if rate.bits_per_second() == 0 {
        return Err("a rate of 0 sends nothing".to_owned());
    }
    Ok(rate)
}

fn time(text: &str) -> Result<Duration, String> {
    // Zero is the same in every unit.
    if text.trim() == "0" {
        return Ok(Duration::ZERO);
    }
    let span = quantity::<Span>(text)?;
    Ok(Duration::from_nanos(span.as_ps() / 1_000))
}

/// Whole milliseconds, as the protocol has them.
fn bench_time(text: &str) -> Result<Duration, String> {
    let (least, most) = (1, u128::from(MAX_BENCH_MILLIS));
    let time = time(text)?;
    if (least..=most).contains(&time.as_millis()) {
        return Ok(time);
    }
    Err(format!("\"{text}\" is not from 1 ms to {} s", most / 1000))
}

/// Shorter than a server's patience with a silent client.
fn ping_interval(text: &str) -> Result<Duration, String> {
    let (time, most) = (time(text)?, Duration::from_secs(30));
    if time <= most {
        return Ok(time);
    }
    Err(format!("\"{text}\" is longer than {} s", most.as_secs()))
}

fn ping_size(text: &str) -> Result<usize, String> {
    let size = quantity::<Bytes>(text)?.count();
    usize::try_from(size)
        .ok()
        .filter(|size| *size <= MAX_PING)
        .ok_or_else(|| format!("\"{text}\" is more than {MAX_PING} B"))
}

fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let alone = text.parse().map(|ip: IpAddr| SocketAddr::new(ip, PORT));
    text.parse().or(alone).map_err(|_| {
        format!(
            "'{text}' is not ADDR:PORT, such as 127.0.0.1:9000, 0.0.0.0:9000 or [::]:9000; \
             names are not understood here"
        )
    })
}

/// The controls, each by its name and with its line in `--help`.
#[derive(Debug, Clone, Copy)]
struct ControlParser;

impl TypedValueParser for ControlParser {
    type Value = Control;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Control, Error> {
        // A class of Python: the program from the package has them.
        if value.to_str().is_some_and(|text| text.contains(".py:")) {
            return Ok(Control::Own);
        }
        let known = PossibleValuesParser::new(Control::all().map(Control::name));
        let name = known.parse_ref(command, argument, value)?;
        let control = Control::all().find(|control| control.name() == name);
        Ok(control.expect("clap takes no other name"))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        let value = |control: Control| PossibleValue::new(control.name()).help(control.summary());
        Some(Box::new(Control::all().map(value)))
    }
}

fn name(text: &str) -> Result<Name, String> {
    Name::parse(text).map_err(|error| error.to_string())
}
