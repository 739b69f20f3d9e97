//! The memory of a switch with priorities, and the pause frames that it sends (PFC, IEEE 802.1Qbb).
//!
//! The accounting is that of `priority_memory`. A packet leaves its accounts when its sending begins or
//! ends. Leaves out: the timing of pauses at their receivers.

use incastle_units::{Bytes, Rate, Time};

use crate::{
    DropCause, Passage, PauseFrame, PauseSender, PauseSenderConfig, PauseTransition, Priority,
    PriorityMemory, PriorityMemoryConfig, SentPauses,
};

/// When a packet leaves the accounts of its switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReleaseAt {
    /// When its last bit has left: memory is freed then.
    #[default]
    End,
    /// When its first bit leaves (HPCC's simulator).
    Begin,
}

/// The parameters of a switch with priorities.
#[derive(Debug, Clone, PartialEq)]
pub struct LosslessConfig {
    /// The memory and its accounts. Ports are numbered in the order in which links are added.
    pub memory: PriorityMemoryConfig,
    /// When packets leave the accounts.
    pub release_at: ReleaseAt,
    /// How the switch pauses its peers; without, it admits by the same accounts.
    pub pause: Option<PauseSenderConfig>,
    /// The size of a pause frame on the wire.
    pub frame: Bytes,
}

/// A pause frame that has to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PauseDue {
    /// The port of the switch that sends it, by its number there.
    pub port: usize,
    /// Its content.
    pub frame: PauseFrame,
}

/// The state of a switch.
#[derive(Debug)]
pub struct Lossless {
    memory: PriorityMemory,
    release_at: ReleaseAt,
    /// By port; empty where the switch pauses nobody.
    senders: Vec<PauseSender>,
    /// By port and priority: packets dropped because headroom was full.
    overflows: Vec<[u64; Priority::COUNT]>,
    frame: u16,
    due: Vec<PauseDue>,
}

impl Lossless {
    /// An empty switch whose ports have these rates. The configuration of the memory must have passed its check.
    pub fn new(config: &LosslessConfig, rates: &[Rate]) -> Self {
        let senders = config.pause.iter();
        let senders =
            senders.flat_map(|pause| rates.iter().map(|rate| PauseSender::new(*pause, *rate)));
        Self {
            memory: PriorityMemory::new(&config.memory),
            release_at: config.release_at,
            senders: senders.collect(),
            overflows: vec![[0; Priority::COUNT]; rates.len()],
            frame: u16::try_from(config.frame.count()).expect("a pause frame is small"),
            due: Vec::new(),
        }
    }

    /// Stores an arriving packet, or says why it is dropped.
    pub fn admit(&mut self, now: Time, passage: &Passage) -> Result<(), DropCause> {
        let stored = self.memory.admit(passage).inspect_err(|cause| {
            if *cause == DropCause::HeadroomFull {
                self.overflows[passage.ingress][passage.priority.index()] += 1;
            }
        })?;
        self.note(now, passage, stored.transition);
        Ok(())
    }

    /// As [`PriorityMemory::admit_calmly`].
    pub fn admit_calmly(&mut self, passage: &Passage) -> bool {
        self.memory.admit_calmly(passage)
    }

    /// The link of a port has failed with this packet in its queue, whose sending has begun or not.
    pub fn cut(&mut self, now: Time, passage: &Passage, begun: bool) {
        if !begun || self.release_at == ReleaseAt::End {
            let transition = self.memory.cut(passage);
            self.note(now, passage, transition);
        }
    }

    /// The link of a port has failed: its peer is paused no more.
    pub fn forget_pauses(&mut self, port: usize) {
        self.memory.forget_pauses(port);
        if let Some(sender) = self.senders.get_mut(port) {
            sender.reset();
        }
    }

    /// The link of a port has another rate: that of the quanta of later frames.
    pub fn change_rate(&mut self, port: usize, rate: Rate) {
        if let Some(sender) = self.senders.get_mut(port) {
            sender.change_rate(rate);
        }
    }

    /// Whether a packet may leave its accounts later than it departs, as long as nobody is paused: nothing else depends on
    /// its instant.
    pub fn may_release_late(&self) -> bool {
        self.release_at == ReleaseAt::End && self.memory.is_monotonic()
    }

    /// Whether no peer is to be paused.
    pub const fn is_calm(&self) -> bool {
        self.memory.is_calm()
    }

    /// Whether a packet that is being sent is in its accounts.
    pub fn counts_sending(&self) -> bool {
        self.release_at == ReleaseAt::End
    }

    /// A packet leaves its accounts.
    pub fn release(&mut self, now: Time, passage: &Passage) {
        let transition = self.memory.release(passage);
        self.note(now, passage, transition);
    }

    /// The next refresh of a pause.
    pub fn poll_timeout(&self) -> Option<Time> {
        let ports = self.senders.iter();
        ports.filter_map(PauseSender::poll_timeout).min()
    }

    /// Refreshes the pauses that are due.
    pub fn on_timeout(&mut self, now: Time) {
        for (port, sender) in self.senders.iter_mut().enumerate() {
            let frame = sender.on_timeout(now);
            self.due.extend(frame.map(|frame| PauseDue { port, frame }));
        }
    }

    /// The accounts.
    pub const fn memory(&self) -> &PriorityMemory {
        &self.memory
    }

    /// The pauses of a priority that a port has sent.
    pub fn sent(&self, port: usize, priority: Priority) -> SentPauses {
        let sender = self.senders.get(port);
        sender.map_or_else(SentPauses::default, |sender| sender.sent(priority))
    }

    /// The packets of a priority that came in at a port and were dropped because its headroom was full.
    pub fn headroom_drops(&self, port: usize, priority: Priority) -> u64 {
        self.overflows[port][priority.index()]
    }

    /// The size of a pause frame.
    pub const fn frame(&self) -> u16 {
        self.frame
    }

    /// Whether pause frames have to be sent.
    pub const fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Takes these frames, in the order in which they are to be sent.
    pub fn take_due(&mut self) -> Vec<PauseDue> {
        std::mem::take(&mut self.due)
    }

    fn note(&mut self, now: Time, passage: &Passage, transition: Option<PauseTransition>) {
        let port = passage.ingress;
        if let Some(transition) = transition
            && let Some(sender) = self.senders.get_mut(port)
        {
            let frame = sender.on_transition(now, passage.priority, transition);
            self.due.push(PauseDue { port, frame });
        }
    }
}
