//! The world: hosts with their flows on a network, run event by event.
//!
//! Endpoints run ahead of the world's time where nothing else can reach them in between.
//! The network delivers a packet as soon as its arrival time is known, and the endpoint acts at that time.
//! Timers of the endpoint that fall in between are run first, in order.
//! `sojourn_net` explains which actions are events, and the order of simultaneous ones.

mod connections;
mod foreign;
mod fork;
mod identity;
mod parts;
mod session;
mod starting;
mod starts;

use crate::accounts::PacketAccounts;
use crate::config::{BuildError, WorldConfig};
use crate::flow::{Completion, Datagrams, Drops, Endpoint, Flow, FlowRoutes, Transfer};
use crate::needs;
use crate::observer::{NoopObserver, Observer};
use crate::packet::Packet;
use crate::tcp::{AckOptionsPool, Origin, Receiver, Sender, TcpOptions};
use identity::Identity;
pub use parts::{Division, Mail};
use session::{Connections, SessionMessage, SessionState};
use sojourn_net::{
    Audit, Delivered, Delivery, Event, Link, LinkImpairment, Moments, Network, NetworkBuilder, Place, Quantiles, RouteId, TimerClass, Turn,
    UnknownLink, Window, prefetch,
};
use sojourn_spec::flow::Flow as Planned;
use sojourn_spec::paths::Paths;
use sojourn_traffic::{Application, Model, Session};
use sojourn_units::{Duration, Items, Stream, Time, memory_of};
use starts::Starts;

/// The classes of timers, in the order in which simultaneous ones run.
pub(crate) const SENDER_TIMER: TimerClass = TimerClass(0);
pub(crate) const RECEIVER_TIMER: TimerClass = TimerClass(1);
pub(crate) const SESSION_TIMER: TimerClass = TimerClass(2);

/// A world: the whole state of a run.
#[derive(Clone, Debug)]
pub struct World<O: Observer = NoopObserver> {
    pub(crate) network: Network<Packet>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) stacks: Vec<TcpOptions>,
    pub(crate) sessions: Vec<SessionState>,
    starts: Starts,
    pub(crate) accounts: PacketAccounts<O>,
    pub(crate) warmup: Time,
    end: Time,
    pub(crate) seed: u64,
    /// Whether the discipline of some link uses the number of active flows.
    pub(crate) counts_flows: bool,
    pub(crate) completions: Vec<Completion>,
    /// RTT samples of each group.
    pub(crate) rtts: Vec<Quantiles>,
    pub(crate) fingerprint: u64,
    /// Packets that arrived earlier than their route's propagation delay allows.
    pub(crate) early: u64,
    /// The number of flows when time last advanced, as far as known.
    flows_before: usize,
    /// Whether segments and ACKs that need nothing unusual take a fast path.
    predicts: bool,
    /// Where time stopped advancing, which ended the run.
    stalled: Option<Place>,
}

/// The largest number of events at one time.
/// Each flow that existed before allows `EVENTS_AT_ONCE_PER_FLOW` more.
/// They suffice for every flow to start at once, each with a large window, and for a page of a million objects.
const EVENTS_AT_ONCE: u64 = 10_000_000;
const EVENTS_AT_ONCE_PER_FLOW: u64 = 100;

/// The number of flows from which on the state for the next event is prefetched.
/// That many flows take 350 kB with their links.
/// With fewer flows it is mostly in the processor's cache, and prefetching would be wasted.
const MANY_FLOWS: usize = 512;

/// A flow to add.
pub(crate) struct AddFlow<'a> {
    pub name: &'a str,
    pub routes: FlowRoutes,
    /// The position of the flow's entry in the configuration.
    pub entry: u32,
    pub group: u32,
    /// `None` for datagrams.
    pub stack: Option<u32>,
    pub session: Option<u32>,
    /// Whether it travels from the receiving host of its entry to the sending one.
    pub reversed: bool,
}

/// An entry of the configuration's flows, and its position there.
#[derive(Clone, Copy)]
struct Entry<'a> {
    position: u32,
    config: &'a Planned,
}

/// The routes between the hosts of one entry of the configuration.
enum Routes {
    Flow(FlowRoutes),
    Session { loads: FlowRoutes, requests: FlowRoutes },
}

impl World<NoopObserver> {
    /// A world at time 0 without an observer.
    ///
    /// # Errors
    /// As [`World::watched`].
    pub fn new(config: WorldConfig<'_>) -> Result<Self, BuildError> {
        World::watched(config, NoopObserver)
    }
}

impl<O: Observer> World<O> {
    /// A world at time 0 with an observer.
    ///
    /// # Errors
    /// If a route or stack does not exist, a controller's parameter is out of range, or a discipline needs what this world does not supply.
    pub fn watched(mut config: WorldConfig<'_>, observer: O) -> Result<Self, BuildError> {
        needs::check(&config)?;
        let mut builder = NetworkBuilder::new(Window { from: config.warmup, until: config.end });
        builder.all_events(config.all_events);
        builder.least_packet(least_packet(&config));
        for link in std::mem::take(&mut config.links) {
            builder.add_link(link);
        }
        builder.add_access_links(&config.access_links);
        // Flows come first: the slots of sessions follow them in every list.
        let flows = std::mem::take(&mut config.flows);
        let all = (0u32..).zip(&*flows).map(|(position, config)| Entry { position, config });
        let (sessions, mut entries): (Vec<_>, Vec<_>) = all.partition(|entry| entry.config.traffic.opens_connections());
        entries.extend(sessions);
        if !entries.iter().any(|entry| needs::drops_at_once(entry.config)) {
            builder.let_links_run_behind();
        }
        builder.reserve_routes(2 * entries.len(), 3);
        let routes = entries.iter().map(|entry| add_routes(&mut builder, &config.stacks, entry.config)).collect::<Result<Vec<_>, _>>()?;
        let network: Network<Packet> = builder.build();
        let mut world = World {
            counts_flows: network.counts_flows(),
            network,
            flows: Vec::with_capacity(entries.len()),
            stacks: std::mem::take(&mut config.stacks),
            sessions: Vec::new(),
            starts: Starts::default(),
            accounts: PacketAccounts {
                observer,
                pool: AckOptionsPool::default(),
                drops: Drops::with_room(entries.len()),
                warmup: config.warmup,
                foreign: None,
            },
            warmup: config.warmup,
            end: config.end,
            seed: config.seed,
            completions: Vec::new(),
            rtts: Vec::new(),
            fingerprint: 0,
            early: 0,
            flows_before: entries.len(),
            predicts: !config.all_events,
            stalled: None,
        };
        for (entry, routes) in entries.into_iter().zip(routes) {
            let Planned { name, start, stop, .. } = entry.config;
            match (entry.config.traffic.model(), routes) {
                (Model::Flow(model), Routes::Flow(routes)) => {
                    let random = || Stream::named_by_parts(config.seed, ["flow/", name, "/application"]);
                    world.start_flow(
                        entry,
                        routes,
                        Application::new(model, *start, if *stop < config.end { *stop } else { Time::NEVER }, random),
                    )?;
                }
                (Model::Session(model), Routes::Session { loads, requests }) => {
                    let random = Stream::named(config.seed, &format!("session/{name}"));
                    let session = Session::new(model, config.end.min(*stop), random);
                    world.start_session(entry, Connections::new(loads), Connections::new(requests), session)?;
                }
                _ => unreachable!("a session has the routes of a session"),
            }
        }
        world.plan_starts();
        Ok(world)
    }

    /// Adds a flow with its application.
    fn start_flow(&mut self, entry: Entry, routes: FlowRoutes, application: Application) -> Result<(), BuildError> {
        let Entry { position, config } = entry;
        let Planned { name, group, stack, .. } = config;
        let index =
            self.add_flow(&AddFlow { name, routes, entry: position, group: *group, stack: *stack, session: None, reversed: false })?;
        let flow = &mut self.flows[index as usize];
        if let Endpoint::Udp(datagrams) = &mut flow.endpoint {
            datagrams.echo = config.traffic.echoes().then(Moments::default);
            datagrams.foreign = config.host.is_some();
        }
        if config.host.is_some() {
            self.accounts.foreign.get_or_insert_default().add_flow(index);
        }
        flow.transfer = application.transfer_size().map(|size| Box::new(Transfer { opened: config.start, size, ..Transfer::default() }));
        flow.application = application;
        Ok(())
    }

    /// Adds a session, which opens its connections as it runs.
    fn start_session(&mut self, entry: Entry, loads: Connections, requests: Connections, session: Session) -> Result<(), BuildError> {
        let Entry { position, config } = entry;
        let stack = config.stack.filter(|&stack| (stack as usize) < self.stacks.len());
        let Some(stack) = stack else { return Err(BuildError::Stack { name: config.name.clone() }) };
        let index = self.sessions.len() as u32;
        self.sessions.push(SessionState {
            session,
            name: config.name.clone(),
            entry: position,
            group: config.group,
            stack,
            loads,
            requests,
            opened: 0,
            requested: Default::default(),
            last_tag: 0,
        });
        self.wake_session(index, config.start, SessionMessage::Act);
        Ok(())
    }

    /// Adds a flow; returns its number.
    pub(crate) fn add_flow(&mut self, flow: &AddFlow) -> Result<u32, BuildError> {
        let &AddFlow { name, routes, entry, group, stack, session, reversed } = flow;
        let index = self.flows.len() as u32;
        let identity = Identity { seed: self.seed, name };
        if self.network.hashes_flows() {
            self.network.set_hash(index, identity.hash());
        }
        let mut receiver = Receiver::default();
        let endpoint = match stack {
            None => Endpoint::Udp(Box::new(Datagrams { armed: Time::NEVER, ..Datagrams::default() })),
            Some(stack) => {
                let params = self.stacks.get(stack as usize).ok_or_else(|| BuildError::Stack { name: name.into() })?;
                receiver = Receiver::new(params, self.predicts).map_err(BuildError::Control)?;
                let clock_phase = identity.clock_phase(params);
                let origin = Origin { flow: index, incarnation: 0, clock_phase, predicts: self.predicts };
                let sender = Sender::new(origin, params).map_err(BuildError::Control)?;
                Endpoint::Tcp(sender.drawing(|| identity.stream("controller")))
            }
        };
        if self.rtts.len() <= group as usize {
            self.rtts.resize(group as usize + 1, Quantiles::default());
        }
        self.accounts.drops.add_flow(session.is_some());
        self.flows.push(Flow {
            routes,
            entry,
            group,
            stack: stack.unwrap_or(u32::MAX),
            endpoint,
            receiver,
            application: Application::idle(),
            transfer: session.map(|session| Box::new(Transfer { session: Some(session), ..Transfer::default() })),
            totals: Default::default(),
            in_window: false,
            counted: false,
        });
        self.accounts.observer.on_flow(index, entry, reversed);
        Ok(index)
    }

    /// Runs to the end, or to `until` if that comes first.
    /// A world that has [`World::stalled`] does not continue.
    pub fn run(&mut self, until: Time) {
        while self.run_some(until) {}
    }

    /// Runs some thousands of events, at most to the end or to `until`.
    /// Returns whether more may be due by then.
    /// A caller can thus stop a run at any time.
    pub fn run_some(&mut self, until: Time) -> bool {
        let mut arrived = Packet::EMPTY;
        if self.stalled.is_some() {
            return false;
        }
        while self.step(until, &mut arrived).is_some() {}
        self.network.paused() && !self.stalls()
    }

    /// Runs at most this many events up to `until`.
    /// Each packet that is sent counts as one more.
    /// Returns the time of the last event.
    /// `None` if all that are due by `until` are done, or the world has [`World::stalled`].
    pub fn run_events(&mut self, until: Time, most: u64) -> Option<Time> {
        let mut arrived = Packet::EMPTY;
        let (mut events, (_, before)) = (0, self.network.progress());
        while self.stalled.is_none() {
            if self.step(until, &mut arrived).is_none() && (!self.network.paused() || self.stalls()) {
                return None;
            }
            events += 1;
            let (now, sent) = self.network.progress();
            if events + sent - before >= most {
                return Some(now);
            }
        }
        None
    }

    /// Whether time no longer advances: implausibly many events happened at one time.
    fn stalls(&mut self) -> bool {
        let events = self.network.events_at_once();
        if events == 0 {
            self.flows_before = self.flows.len();
        }
        if events > EVENTS_AT_ONCE + EVENTS_AT_ONCE_PER_FLOW * self.flows_before as u64 {
            self.stalled = Some(self.network.place());
        }
        self.stalled.is_some()
    }

    /// Where time stopped advancing; `None` for a world that can continue.
    /// It stops for example where a flow sends without end over links that take no time.
    pub fn stalled(&self) -> Option<&Place> {
        self.stalled.as_ref()
    }

    /// The session that a flow serves, if any, by its position in the configuration.
    pub fn session_of(&self, flow: u32) -> Option<u32> {
        self.flows.get(flow as usize).and_then(|flow| flow.transfer.as_ref()?.session)
    }

    /// Runs the next event that is due by `until`; `None` if no event is.
    /// `arrived` is storage for a packet.
    /// With many flows the state for the following event is prefetched in the meantime.
    #[inline(always)]
    fn step(&mut self, until: Time, arrived: &mut Packet) -> Option<()> {
        let event = self.network.next_in_place(until, arrived, &mut self.accounts)?;
        if self.flows.len() >= MANY_FLOWS {
            self.prefetch_upcoming();
        }
        match event {
            Event::Delivery(Delivered { at, .. }) => self.on_delivery(at, arrived),
            Event::Timer { at, class: SENDER_TIMER, entity, .. } => self.sender_timer(at, entity),
            Event::Timer { at, class: RECEIVER_TIMER, entity, .. } => self.receiver_timer(at, entity),
            Event::Timer { at, entity, tag, .. } => self.session_timer(at, entity, tag),
        }
        Some(())
    }

    /// Prefetches the state for the next event into the processor's cache.
    #[inline(never)]
    fn prefetch_upcoming(&self) {
        if let Some(flow) = self.network.prefetch_upcoming() {
            prefetch(&self.flows, flow as usize);
        }
    }

    /// Ends the run and checks that no packet was lost unaccounted for.
    /// It also brings the statistics of every link up to the end.
    ///
    /// # Errors
    /// A sentence on what does not balance.
    pub fn finish(&mut self) -> Result<Audit, String> {
        self.run(Time::NEVER);
        if let Some(Place { now, events, .. }) = self.stalled {
            return Err(format!("time does not advance: {events} events at {now:?}"));
        }
        let audit = self.network.finish(self.end)?;
        if self.early > 0 {
            return Err(format!("{} packets arrived before their route's propagation delay was over", self.early));
        }
        Ok(audit)
    }

    /// The world's time: no event to come is earlier.
    pub fn now(&self) -> Time {
        self.network.progress().0
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.accounts.observer
    }

    /// The observer, for example to finish what it records.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.accounts.observer
    }

    /// A hash that two runs share only if they deliver the same packets at the same times.
    /// It is a commutative sum over all deliveries.
    /// So it does not depend on the order in which endpoints that cannot affect each other were run.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The links that decide or measure, in the order of the configuration.
    /// Access links are not among them.
    pub fn links(&self) -> &[Link<Packet>] {
        self.network.links()
    }

    /// The impairments of all links, those of a link in the order of the configuration.
    pub fn impairments(&self) -> &[LinkImpairment] {
        self.network.impairments()
    }

    /// The same links, to start traces.
    pub fn links_mut(&mut self) -> &mut [Link<Packet>] {
        self.network.links_mut()
    }

    /// The distribution of a group's RTT samples within the measurement window.
    pub fn rtts(&self, group: u32) -> Option<&Quantiles> {
        self.rtts.get(group as usize)
    }

    /// The transfers completed in the measurement window, in no particular order.
    pub fn completions(&self) -> &[Completion] {
        &self.completions
    }

    /// Bytes of memory held by flows and by the network.
    pub fn memory(&self) -> usize {
        let PacketAccounts { pool, drops, .. } = &self.accounts;
        let measured = memory_of([&self.rtts, &Items(&self.rtts), &self.completions]);
        measured + memory_of([&self.flows, &Items(&self.flows), &self.starts, pool, drops, &self.network])
    }
}

/// The smallest possible size of a packet, in bytes.
/// It is that of a header without AccECN's option where all flows are TCP.
fn least_packet(config: &WorldConfig<'_>) -> u32 {
    let of_flow = |flow: &Planned| {
        flow.stack.and_then(|stack| config.stacks.get(stack as usize)).map_or(1, |stack| stack.header - stack.accecn_room())
    };
    config.flows.iter().map(of_flow).min().unwrap_or(1)
}

/// Adds the routes of an entry of the configuration.
fn add_routes(builder: &mut NetworkBuilder, stacks: &[TcpOptions], entry: &Planned) -> Result<Routes, BuildError> {
    // A receiver of datagrams either returns them at once or sends nothing.
    let immediate = entry.stack.is_none_or(|stack| stacks.get(stack as usize).is_some_and(Receiver::answers_at_once));
    let none = Paths::default();
    let Paths { forward, back, times, .. } = entry.paths.as_deref().filter(|paths| !paths.drawn).unwrap_or(&none);
    let forward = Direction { links: &entry.forward, choice: forward, times };
    let back = Direction { links: &entry.back, choice: back, times };
    let mut add = |there: &Direction<'_>, back: &Direction<'_>, shared: bool| {
        // On every loop a flow must wait for the world's time somewhere, or it would run to the end of time at once.
        let chooses = there.chooses() || back.chooses();
        let deferred = chooses || entry.host.is_some();
        let ways = match deferred {
            true => [(there, Delivery::Deferred), (back, Delivery::Deferred)],
            false => [(there, Delivery::AfterEvent), (back, Delivery::Immediate)],
        };
        let [forward, back_route] = ways.map(|(way, delivery)| way.add(builder, delivery, shared, entry.group));
        if immediate && !deferred {
            builder.answers_at_once();
        }
        let unknown = |UnknownLink(_)| BuildError::Route { name: entry.name.clone() };
        let least_delay = there.least_delay(builder).map_err(unknown)?;
        Ok(FlowRoutes { forward: forward.map_err(unknown)?, back: back_route.map_err(unknown)?, least_delay })
    };
    Ok(match entry.traffic.opens_connections() {
        false => Routes::Flow(add(&forward, &back, false)?),
        true => Routes::Session { loads: add(&forward, &back, true)?, requests: add(&back, &forward, true)? },
    })
}

/// The paths of an entry in one direction.
struct Direction<'a> {
    links: &'a [u32],
    choice: &'a [Vec<u32>],
    times: &'a [Time],
}

impl Direction<'_> {
    /// Whether packets choose between several paths.
    fn chooses(&self) -> bool {
        self.choice.len() > 1
    }

    fn add(&self, builder: &mut NetworkBuilder, delivery: Delivery, shared: bool, group: u32) -> Result<RouteId, UnknownLink> {
        if self.chooses() {
            let turn = if self.times.is_empty() { Turn::Packets } else { Turn::Times(self.times.into()) };
            return builder.add_choice(self.choice, turn, shared, group);
        }
        let route = builder.add_route(self.links, delivery, shared);
        builder.set_group(group);
        route
    }

    /// The least propagation delay over its paths.
    fn least_delay(&self, builder: &NetworkBuilder) -> Result<Duration, UnknownLink> {
        let of_choice = self.choice.iter().map(|links| builder.least_delay(links));
        of_choice.fold(builder.least_delay(self.links), |least, delay| Ok(least?.min(delay?)))
    }
}
