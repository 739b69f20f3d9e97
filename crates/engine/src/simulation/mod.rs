//! The event loop: takes the first event and dispatches it to the part that it concerns.

mod all_partitions;
mod conservation;
mod fabric;
mod prefetch;
mod sampling;
mod stack;
mod totals;
mod windows;

use incastle_units::{Span, Time};

use fabric::Fabric;
use prefetch::Prefetcher;
use sampling::Sampling;
use stack::HostStack;

pub use all_partitions::{AllPartitions, Finished, finish};
pub use prefetch::Prefetch;
pub use totals::Totals;

use crate::core::{
    AppIndex, EndpointIndex, Event, EventQueue, FlowIndex, HostIndex, Kind, Livelock,
    MAX_EVENTS_PER_INSTANT, PortIndex, SwitchIndex,
};
use crate::flow::{Application, FlowAccount, FlowRecord};
use crate::network::Network;
use crate::probe::Probe;

/// The result of a call of [`Simulation::run`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// No event is left until the given instant.
    Done,
    /// The budget of events is used up.
    Paused,
}

/// Why the loop has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// No event is left until the given instant.
    NothingLeft,
    /// The budget of events is used up.
    Budget,
    /// The next event, at this instant, has to wait for another partition.
    Waits(Time),
}

/// Why a simulation cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A loop without delay.
    #[error(
        "more than {MAX_EVENTS_PER_INSTANT} events at one instant ({} ps): \
         a loop without delay",
        at.as_ps()
    )]
    Livelock {
        /// The instant.
        at: Time,
    },
}

/// A network with flows, applications and a clock.
pub struct Simulation<P: Probe> {
    stack: HostStack<P>,
    sampling: Sampling,
    prefetcher: Prefetcher,
}

impl<P: Probe> Simulation<P> {
    /// A network at rest at time zero, under a probe.
    pub fn new(network: Network, probe: P) -> Self {
        let ports = network.ports.len();
        let mut fabric = Fabric::new(network, probe);
        let prefetcher = Prefetcher::for_ports(ports, &mut fabric.clock.events);
        Self {
            stack: HostStack::new(fabric),
            sampling: Sampling::default(),
            prefetcher,
        }
    }

    /// Adds an application, which is called first at its `poll_timeout`.
    pub fn add_application(&mut self, app: Box<dyn Application>) -> AppIndex {
        self.stack
            .applications
            .add(app, &mut self.stack.fabric.clock)
    }

    /// Ends the simulation as soon as this application, and all others that this was called for, are over.
    pub fn end_with(&mut self, index: AppIndex) {
        self.stack.applications.end_with(index);
    }

    /// Whether it has ended with its applications ([`Self::end_with`]).
    pub fn is_over(&self) -> bool {
        self.stack.applications.is_over()
    }

    /// Samples the queues of `ports` every `every`, from the first multiple of it on.
    pub fn sample_queues(&mut self, ports: Vec<PortIndex>, every: Span) {
        self.sampling
            .sample_queues(ports, every, &mut self.stack.fabric.clock);
    }

    /// Samples the memories of `switches` every `every`, from the first multiple of it on.
    pub fn sample_memories(&mut self, switches: &[SwitchIndex], every: Span) {
        let Fabric { network, clock, .. } = &mut self.stack.fabric;
        self.sampling
            .sample_memories(switches, every, network, clock);
    }

    /// Reports to the probe every packet that leaves these ports, from now on, which must be the beginning.
    /// They have departure events then, for any kind of queue: only the number of events differs.
    pub fn capture(&mut self, ports: &[PortIndex]) {
        for port in ports {
            self.stack.fabric.network.capture(*port);
        }
    }

    /// Reports to the probe the beginning and the end of the measured interval.
    pub fn measure_between(&mut self, from: Time, to: Time) {
        sampling::enter_interval(from, to, &mut self.stack.fabric.clock);
    }

    /// Sets the depth of the prefetch, which otherwise follows from the size of the network. Results are the same.
    pub fn set_prefetch(&mut self, depth: Prefetch) {
        self.prefetcher
            .set_depth(depth, &mut self.stack.fabric.clock.events);
    }

    /// Runs until `until`, for at most `budget` events, or until the end of its applications ([`Self::end_with`]).
    pub fn run(&mut self, until: Time, budget: u64) -> Result<Status, RunError> {
        match self.advance(until, budget)? {
            Stop::NothingLeft => {
                self.rest(until);
                Ok(Status::Done)
            }
            Stop::Budget | Stop::Waits(_) => Ok(Status::Paused),
        }
    }

    /// The loop. It has one copy: all of an arrival is expanded here.
    fn advance(&mut self, until: Time, budget: u64) -> Result<Stop, RunError> {
        for _ in 0..budget {
            if self.stack.fabric.clock.events.needs_refill() {
                self.stack.fabric.clock.events.refill(until);
            }
            self.prefetcher
                .prefetch(&mut self.stack.fabric, &self.stack.flows);
            let Some(event) = self.stack.fabric.clock.events.take(until) else {
                return Ok(Stop::NothingLeft);
            };
            if self.stack.fabric.process.is_some() {
                if self.stack.must_wait(event) {
                    self.stack.fabric.clock.events.push(event);
                    return Ok(Stop::Waits(event.at));
                }
                self.stack.fabric.network.begin_notes(event);
            }
            let advanced = self.stack.fabric.clock.advance(event.at);
            advanced.map_err(|Livelock| RunError::Livelock { at: event.at })?;
            self.dispatch(event);
        }
        Ok(Stop::Budget)
    }

    /// No event is left until `until`; a simulation that is over stays at its end. Departures without events are processed.
    fn rest(&mut self, until: Time) {
        if !self.is_over() {
            self.stack.fabric.clock.rest(until);
        }
        self.stack.fabric.settle();
    }

    #[inline(always)]
    fn dispatch(&mut self, event: Event) {
        // Nearly all events: ahead of the table of the others.
        if event.is(Kind::Arrival) {
            self.stack.arrive(PortIndex(event.source()));
        } else {
            self.dispatch_others(event);
        }
    }

    #[inline(never)]
    fn dispatch_others(&mut self, event: Event) {
        let (kind, source) = (event.kind(), event.source());
        let stack = &mut self.stack;
        stack.fabric.totals.events += u64::from(kind.is_of_one_place());
        match kind {
            Kind::Arrival => unreachable!("arrivals are dispatched before"),
            Kind::Departure => stack.fabric.depart(PortIndex(source)),
            Kind::Control => stack.fabric.control(source),
            Kind::Dequeue => stack.dequeue(HostIndex(source)),
            Kind::Timer => stack.timer(EndpointIndex(source)),
            Kind::Batch => stack.batch_is_due(EndpointIndex(source)),
            Kind::Application => self.call(AppIndex(source)),
            Kind::Probe => self.sampling.sample(source, &mut stack.fabric),
        }
        self.stack.settle_lost();
    }

    /// Calls an application and carries out its actions.
    fn call(&mut self, index: AppIndex) {
        let (now, next_flow) = (self.now(), self.stack.flows.next());
        let Some(mut actions) = self.stack.applications.call(index, next_flow, now) else {
            return;
        };
        for action in actions.drain(..) {
            self.stack.perform(index, action);
        }
        let HostStack {
            applications,
            fabric,
            ..
        } = &mut self.stack;
        if applications.finish_call(index, actions, &mut fabric.clock) {
            self.clear_future();
        }
    }

    /// Frees applications and events at the end of the run.
    fn clear_future(&mut self) {
        self.stack.applications.clear();
        self.stack.fabric.clock.events = EventQueue::default();
    }

    // Results.

    /// The current instant.
    pub fn now(&self) -> Time {
        self.stack.fabric.clock.now()
    }

    /// The totals so far.
    pub fn totals(&self) -> Totals {
        let fabric = &self.stack.fabric;
        Totals {
            events: fabric.totals.events + fabric.network.late_departures
                - fabric.network.added_departures,
            ..fabric.totals
        }
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.stack.fabric.network
    }

    /// The probe.
    pub fn probe(&self) -> &P {
        &self.stack.fabric.probe
    }

    /// Bytes allocated for the lists of flows and of their living endpoints; they need as much again to grow.
    pub fn flow_room(&self) -> usize {
        self.stack.flows.room() + self.stack.fabric.accounts.capacity() * size_of::<FlowAccount>()
    }

    /// The number of flows opened so far.
    pub fn flow_count(&self) -> usize {
        self.stack.flows.count()
    }

    /// The record of a flow at the present instant.
    pub fn flow(&self, flow: FlowIndex) -> FlowRecord {
        let account = &self.stack.fabric.accounts[flow.index()];
        self.stack.flows.record(flow, self.now(), account)
    }
}
