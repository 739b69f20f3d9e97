//! Runs the binary: to its end, or as a server during a test.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Beyond this a program hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// The program with arguments, its outputs kept.
pub(crate) fn dcudp(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dcudp"));
    command.args(arguments);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Waits for the end of a program; gives its status, standard output and standard error.
pub(crate) fn finish(child: Child) -> (i32, String, String) {
    Running::new(child).finish()
}

pub(crate) fn text(bytes: impl AsRef<str>) -> String {
    bytes.as_ref().to_owned()
}

/// A program that runs. It does not outlive its test.
pub(crate) struct Running {
    child: Child,
    out: Option<BufReader<ChildStdout>>,
    first: String,
}

impl Running {
    pub(crate) fn new(mut child: Child) -> Self {
        let out = child.stdout.take().map(BufReader::new);
        Self {
            child,
            out,
            first: String::new(),
        }
    }

    /// Waits for the first line of standard output.
    pub(crate) fn first_line(&mut self) -> &str {
        if let Some(out) = &mut self.out {
            out.read_line(&mut self.first).unwrap();
        }
        &self.first
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// As Ctrl-C does, and waits.
    pub(crate) fn interrupt(self) -> (i32, String, String) {
        self.signal(Signal::INT);
        self.finish()
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for the end. The status of one that a signal ended is -1.
    pub(crate) fn finish(mut self) -> (i32, String, String) {
        let out = reader(self.out.take());
        let err = reader(self.child.stderr.take());
        let read = |channel: mpsc::Receiver<String>| channel.recv_timeout(PATIENCE);
        let (Ok(out), Ok(err)) = (read(out), read(err)) else {
            panic!("the program hangs");
        };
        let status = self.child.wait().unwrap().code().unwrap_or(-1);
        (status, self.first.clone() + &out, err)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Reads to the end in a thread, so that no pipe is ever full.
fn reader(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut text = String::new();
        if let Some(mut stream) = stream {
            stream.read_to_string(&mut text).ok();
        }
        sender.send(text).ok();
    });
    receiver
}

/// A server, with the address that it chose.
pub(crate) struct Server {
    pub(crate) address: String,
    running: Running,
}

impl Server {
    /// `dcudp serve`.
    pub(crate) fn files(directory: &Path, more: &[&str]) -> Self {
        let mut arguments = vec!["serve", directory.to_str().unwrap()];
        if !more.contains(&"--listen") {
            arguments.extend(["--listen", "127.0.0.1:0"]);
        }
        arguments.extend(more);
        Self::start(dcudp(&arguments))
    }

    /// `dcudp bench --serve`.
    pub(crate) fn measurements() -> Self {
        Self::start(dcudp(&["bench", "--serve", "--listen", "127.0.0.1:0"]))
    }

    /// Any command that listens.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut running = Running::new(command.spawn().unwrap());
        let line = running.first_line().to_owned();
        let Some((_, address)) = line.trim_end().rsplit_once(" on ") else {
            let (status, _, err) = running.finish();
            panic!("no server: {status} {err}");
        };
        Self {
            address: address.to_owned(),
            running,
        }
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    /// As Ctrl-C does, and waits.
    pub(crate) fn interrupt(self) -> (i32, String, String) {
        self.running.interrupt()
    }
}
