//! The memory of a switch with priorities, and the pause frames that it sends (PFC, IEEE 802.1Qbb).
//!
//! The accounting is that of `priority_memory`. A packet leaves its accounts when its sending begins or
//! ends. Leaves out: the timing of pauses at their receivers.

use incastle_units::Bytes;

use crate::{
    DropCause, Passage, PauseTransition, Priority, PriorityMemory, PriorityMemoryConfig,
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
    /// Whether the switch sends pause frames; without, it admits by the same accounts.
    pub pauses: bool,
    /// The size of a pause frame on the wire.
    pub frame: Bytes,
}

/// A pause frame that has to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PauseDue {
    /// The port of the switch that sends it, by its number there.
    pub port: usize,
    /// The priority that it pauses, or lets go on.
    pub priority: Priority,
    /// Which of both.
    pub transition: PauseTransition,
}

/// The state of a switch.
#[derive(Debug)]
pub struct Lossless {
    memory: PriorityMemory,
    release_at: ReleaseAt,
    pauses: bool,
    frame: u16,
    due: Vec<PauseDue>,
}

impl Lossless {
    /// An empty switch. The configuration of the memory must have passed its check.
    pub fn new(config: &LosslessConfig) -> Self {
        Self {
            memory: PriorityMemory::new(&config.memory),
            release_at: config.release_at,
            pauses: config.pauses,
            frame: u16::try_from(config.frame.count()).expect("a pause frame is small"),
            due: Vec::new(),
        }
    }


    /// Stores an arriving packet, or says why it is dropped.
    pub fn admit(&mut self, passage: &Passage) -> Result<(), DropCause> {
        let stored = self.memory.admit(passage)?;
        self.note(passage, stored.transition);
        Ok(())
    }

    /// The sending of a packet begins.
    pub fn begin(&mut self, passage: &Passage) {
        if self.release_at == ReleaseAt::Begin {
            self.release(passage);
        }
    }

    /// The sending of a packet has ended.
    pub fn end(&mut self, passage: &Passage) {
        if self.release_at == ReleaseAt::End {
            self.release(passage);
        }
    }

    /// A packet leaves its accounts.
    pub fn release(&mut self, passage: &Passage) {
        let transition = self.memory.release(passage);
        self.note(passage, transition);
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

    fn note(&mut self, passage: &Passage, transition: Option<PauseTransition>) {
        if let Some(transition) = transition.filter(|_| self.pauses) {
            self.due.push(PauseDue {
                port: passage.ingress,
                priority: passage.priority,
                transition,
            });
        }
    }
}
