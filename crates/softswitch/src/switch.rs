//! The network in real time: packets are read from the hosts' devices, and written to them when they are due.
//!
//! A timer of the kernel fires tens of microseconds late. Shortly before the next packet is due the loop therefore
//! no longer sleeps, most of the time: it looks for arrivals, without waiting, until the instant has come.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};

use incastle_units::{Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use rustix::event::epoll;
use rustix::thread::{gettid, set_current_timer_slack};

use crate::address;
use crate::clock::Clock;
use crate::network::Network;
use crate::rest::Rest;
use crate::tun::Tun;
use crate::wait::{NO_EVENT, readable, ready_now};

/// A loop that does not sleep looks at its control this often.
const CONTROL: Span = Span::from_ms(5);
/// Packets read from a device before departures have their turn.
const BATCH: usize = 16;
/// Events taken from the kernel at once.
const EVENTS: usize = 64;
/// The real-time priority of the switch: no other process delays it.
pub const SWITCH_PRIORITY: u8 = 40;
/// That of endpoints: only the switch comes first.
pub const ENDPOINT_PRIORITY: u8 = 30;

/// Why a run of the loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The instant came.
    TimeUp,
    /// The control can be read.
    Control,
}

/// The network, its devices and its clock.
pub struct Switch {
    clock: Clock,
    network: Network,
    devices: Vec<Tun>,
    arrivals: OwnedFd,
    rng: Xoshiro256PlusPlus,
    room: Vec<u8>,
    /// By host: packets that its namespace did not take.
    refused: Vec<u64>,
    /// Packets for no host of the network.
    strangers: u64,
    arrived: Option<ArrivedBytes>,
    rest: Rest,
}

/// Bytes that hosts received, by interval and host.
struct ArrivedBytes {
    from: Time,
    every: Span,
    sums: BTreeMap<(u64, usize), u64>,
}

impl Switch {
    /// A switch between these devices, one for each host.
    pub fn new(clock: Clock, network: Network, devices: Vec<Tun>, seed: u64) -> io::Result<Self> {
        assert_eq!(devices.len(), network.graph().hosts(), "a device per host");
        let arrivals = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (host, device) in devices.iter().enumerate() {
            let number = epoll::EventData::new_u64(host as u64);
            epoll::add(&arrivals, device, number, epoll::EventFlags::IN)?;
        }
        Ok(Self {
            clock,
            refused: vec![0; devices.len()],
            network,
            devices,
            arrivals,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            room: vec![0; 1 << 16],
            strangers: 0,
            arrived: None,
            rest: Rest::default(),
        })
    }

    /// Forwards packets until `until`, or until `control` can be read.
    pub fn run(
        &mut self,
        until: Option<Time>,
        control: Option<BorrowedFd<'_>>,
    ) -> io::Result<Ended> {
        let ended = self.forward(until, control);
        self.rest.end();
        ended
    }

    fn forward(
        &mut self,
        until: Option<Time>,
        control: Option<BorrowedFd<'_>>,
    ) -> io::Result<Ended> {
        let mut next_look = Time::ZERO;
        loop {
            self.rest.begin(self.clock.now());
            self.deliver_due();
            let now = self.clock.now();
            if until.is_some_and(|until| now >= until) {
                return Ok(Ended::TimeUp);
            }
            let next = [self.network.next_event(), until]
                .into_iter()
                .flatten()
                .min();
            let awake = Rest::awake(now).as_ps();
            let wakes = next.map(|next| Time::from_ps(next.as_ps().saturating_sub(awake)));
            let sleeps = wakes.is_none_or(|wakes| wakes > now);
            if sleeps || now >= next_look {
                next_look = now + CONTROL;
                let wakes = if sleeps { wakes } else { Some(now) };
                self.rest.sleep_until(wakes);
                if self.sleep(wakes, control)? {
                    return Ok(Ended::Control);
                }
            }
            self.receive()?;
        }
    }

    /// Waits for arrivals, for the control or for the instant; tells whether it was the control.
    fn sleep(&self, until: Option<Time>, control: Option<BorrowedFd<'_>>) -> io::Result<bool> {
        let mut sources = vec![self.arrivals.as_fd()];
        sources.extend(control);
        let ready = readable(&self.clock, &sources, until)?;
        Ok(ready.get(1).copied().unwrap_or(false))
    }

    /// Reads what has arrived, without waiting.
    fn receive(&mut self) -> io::Result<()> {
        let mut events = [NO_EVENT; EVENTS];
        for event in ready_now(&self.arrivals, &mut events)? {
            let host = event.data.u64() as usize;
            for _ in 0..BATCH {
                self.deliver_due();
                let Some(length) = self.devices[host].read(&mut self.room)? else {
                    break;
                };
                self.arrive(host, length);
            }
        }
        Ok(())
    }

    fn arrive(&mut self, host: usize, length: usize) {
        let packet = self.room[..length].to_vec();
        let Some(to) = address::destination(&packet, host, self.devices.len()) else {
            self.strangers += 1;
            return;
        };
        // What is due by now comes first, so that each port sees its arrivals in the order of time.
        let now = self.clock.now();
        self.deliver_until(now);
        self.network.arrive(now, host, to, packet, &mut self.rng);
    }

    fn deliver_due(&mut self) {
        self.deliver_until(self.clock.now());
    }

    fn deliver_until(&mut self, now: Time) {
        while let Some(one) = self.network.deliver(now, &mut self.rng) {
            if let Some(arrived) = &mut self.arrived {
                let bin = one.due.saturating_since(arrived.from).as_ps() / arrived.every.as_ps();
                *arrived.sums.entry((bin, one.host)).or_default() += one.packet.len() as u64;
            }
            let taken = self.devices[one.host].write(&one.packet);
            self.refused[one.host] += u64::from(!taken);
        }
    }

    /// The network, for its measurements; it has handled everything up to the end of the last run.
    pub const fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    /// Adds up the bytes that hosts receive from now on, by intervals since `from`.
    pub fn count_bytes(&mut self, from: Time, every: Span) {
        assert!(every > Span::ZERO, "an interval");
        self.arrived = Some(ArrivedBytes {
            from,
            every,
            sums: BTreeMap::new(),
        });
    }

    /// These bytes, IP headers included, by interval and host.
    pub fn arrived_bytes(&self) -> impl Iterator<Item = ((u64, usize), u64)> {
        let sums = self.arrived.iter().flat_map(|arrived| &arrived.sums);
        sums.map(|(&key, &bytes)| (key, bytes))
    }

    /// By host: packets that its namespace did not take.
    pub fn refused(&self) -> &[u64] {
        &self.refused
    }

    /// How long the loop has stood still: others had the processor.
    pub const fn stalled(&self) -> Span {
        self.rest.stalled()
    }

    /// Packets for no host of the network.
    pub const fn strangers(&self) -> u64 {
        self.strangers
    }

    /// The clock.
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// Lets this thread run before others, and its timers fire to the nanosecond, as far as the machine permits. Tells
/// whether it has the priority.
pub fn hurry(priority: u8) -> bool {
    // Without it, 50 us late is usual.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let thread = gettid().as_raw_nonzero().to_string();
    let mut command = Command::new("chrt");
    command.args(["--fifo", "--pid", &priority.to_string(), &thread]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
