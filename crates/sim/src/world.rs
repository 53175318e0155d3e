//! The world: one calendar, one match.
//!
//! An event exists only where something can be decided: where a packet joins others at a link, at a
//! link that keeps its packets, and when a timer is due. Everything else follows at once: a link that
//! a single upstream feeds can't reorder, so its effect is computed when the packet leaves the hop
//! before; and an endpoint behind the last such link acts at its own time, ahead of the world's, for
//! nothing else can reach it in between. Timers that fall in between are run first, in order.

use crate::config::{BuildError, FlowConfig, WorldConfig};
use crate::flow::{Endpoint, Flow, Hop, Over, Route};
use crate::lane::Lanes;
use crate::link::Link;
use crate::link_config::Hints;
use crate::net::{Audit, Net, Travel};
use crate::observe::{Blind, Observer};
use crate::packet::Packet;
use crate::schedule::Kind;
use crate::stats::Quantiles;
use crate::tcp::{Handshake, Receiver, RttHint, Sender, TcpParams};
use crate::ways::Ways;
use sojourn_aqm::Aqm;
use sojourn_traffic::{Application, Model, Session};
use sojourn_units::{Duration, Stream, Time};
use std::collections::BTreeSet;

/// A connection of a session that was completed in the window of statistics.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// The group of its session or flow.
    pub group: u32,
    /// When it was opened.
    pub opened: Time,
    /// When its last byte was acknowledged.
    pub closed: Time,
    /// Its bytes.
    pub size: u64,
}

/// A world that runs.
#[derive(Clone, Debug)]
pub struct World<O: Observer = Blind> {
    pub(crate) net: Net,
    pub(crate) flows: Vec<Flow>,
    pub(crate) stacks: Vec<TcpParams>,
    pub(crate) sessions: Vec<SessionState>,
    pub(crate) warmup: Time,
    pub(crate) seed: u64,
    /// Whether some link is told how many flows are active.
    pub(crate) counts_flows: bool,
    pub(crate) completions: Vec<Completion>,
    /// RTT samples of each group.
    pub(crate) rtts: Vec<Quantiles>,
    /// Whoever watches.
    pub observer: O,
}

/// Flow slots that are free, each from a time on.
pub(crate) type Slots = BTreeSet<(Time, u32)>;

#[derive(Clone, Debug)]
pub(crate) struct SessionState {
    pub session: Session,
    pub name: String,
    pub group: u32,
    pub stack: u32,
    /// Routes of what it loads and of its requests.
    pub routes: (Route, Route),
    /// Slots that are free for loads and for requests.
    pub free: (Slots, Slots),
    pub count: u32,
}

impl World<Blind> {
    /// A world at time 0 that nobody watches.
    pub fn new(config: WorldConfig) -> Result<Self, BuildError> {
        World::watched(config, Blind)
    }
}

impl<O: Observer> World<O> {
    /// A world at time 0 under an observer.
    ///
    /// # Errors
    /// A route or stack that is not there, a controller's parameter out of range, a discipline that
    /// needs what this world can't supply.
    pub fn watched(config: WorldConfig, observer: O) -> Result<Self, BuildError> {
        let window = (config.warmup, config.end);
        check_needs(&config)?;
        let (mut links, mut lanes, mut places) = (Vec::new(), Lanes::default(), Vec::new());
        let hints: Vec<Hints> = config.links.iter().map(|link| link.hints).collect();
        let mut listened = vec![false; config.links.len()];
        for hints in &hints {
            if let Hints::Router { back: Some(back) } = hints
                && let Some(listened) = listened.get_mut(*back as usize)
            {
                *listened = true;
            }
        }
        for (link, listened) in config.links.into_iter().zip(listened) {
            places.push(if link.is_lane() && !listened {
                Over::Lane(lanes.add(&link) as usize)
            } else {
                links.push(Link::new(link, window));
                Over::Link(links.len() - 1)
            });
        }
        let mut world = World {
            net: Net::new(links, lanes, window),
            flows: Vec::with_capacity(config.flows.len()),
            stacks: config.stacks,
            sessions: Vec::new(),
            warmup: config.warmup,
            seed: config.seed,
            counts_flows: false,
            completions: Vec::new(),
            rtts: Vec::new(),
            observer,
        };
        world.net.listen(&hints, &places);
        let mut ways = Ways::new(config.all_events);
        world.counts_flows = world.net.links.iter().any(Link::counts_flows);
        // Flows come first: the slots of sessions follow them in every list.
        let (sessions, flows): (Vec<_>, Vec<_>) = config.flows.iter().partition(|flow| flow.traffic.opens_connections());
        for flow in flows.into_iter().chain(sessions) {
            let forward = world.add_route(&flow.name, &places, &flow.forward, &flow.back)?;
            match flow.traffic.model() {
                Model::Flow(model) => {
                    ways.add(&world.net, &forward, false);
                    let random = Stream::named(config.seed, &format!("flow/{}/application", flow.name));
                    world.add_application(flow, forward, Application::new(model, flow.start, flow.stop, random))?;
                }
                Model::Session(model) => {
                    let back = world.add_route(&flow.name, &places, &flow.back, &flow.forward)?;
                    ways.add(&world.net, &forward, true);
                    ways.add(&world.net, &back, true);
                    let random = Stream::named(config.seed, &format!("session/{}", flow.name));
                    world.add_session(flow, (forward, back), Session::new(model, flow.stop.min(config.end), random))?;
                }
            }
        }
        ways.mark_events(&mut world.net);
        Ok(world)
    }

    /// Adds a flow with its application.
    fn add_application(&mut self, config: &FlowConfig, route: Route, application: Application) -> Result<(), BuildError> {
        let index = self.add_flow(route, config.group, config.stack, None, &config.name)?;
        let flow = &mut self.flows[index as usize];
        if let Endpoint::Udp { echo, .. } = &mut flow.endpoint
            && config.traffic.echoes()
        {
            *echo = Some(Box::default());
        }
        flow.application_due = application.due();
        flow.application = Some(Box::new(application));
        flow.opened = config.start;
        self.arm_sender(index);
        Ok(())
    }

    /// Adds a session, which opens its connections as it goes; `routes` are those of its data and of its requests.
    fn add_session(&mut self, config: &FlowConfig, routes: (Route, Route), session: Session) -> Result<(), BuildError> {
        let stack = config.stack.filter(|&stack| (stack as usize) < self.stacks.len());
        let Some(stack) = stack else { return Err(BuildError::Stack { name: config.name.clone() }) };
        let index = self.sessions.len() as u32;
        let (name, group) = (config.name.clone(), config.group);
        self.sessions.push(SessionState { session, name, group, stack, routes, free: Default::default(), count: 0 });
        self.wake_session(index, config.start, &Packet::NOTHING);
        Ok(())
    }

    /// Adds a route to the table of hops; `places` says what became of each link of the configuration.
    fn add_route(&mut self, name: &str, places: &[Over], forward: &[u32], back: &[u32]) -> Result<Route, BuildError> {
        let place = |link: &u32| places.get(*link as usize).copied().ok_or_else(|| BuildError::Route { name: name.into() });
        let forward = forward.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let back = back.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let mut add = |way: &[Over]| {
            let begin = self.net.hops.len() as u32;
            self.net.hops.extend(way.iter().chain([&Over::End]).map(|&over| Hop::over(over)));
            begin
        };
        let (forward_at, back_at) = (add(&forward), add(&back));
        let delay = |over: &Over| match *over {
            Over::Link(link) => self.net.links[link].least_delay().as_nanos(),
            Over::Lane(lane) => self.net.lanes.delay(lane).as_nanos(),
            Over::End => 0,
        };
        Ok(Route { forward: forward_at, back: back_at, least: forward.iter().map(delay).sum() })
    }

    /// Adds a flow; `stack` is `None` for datagrams.
    pub(crate) fn add_flow(
        &mut self,
        route: Route,
        group: u32,
        stack: Option<u32>,
        session: Option<u32>,
        name: &str,
    ) -> Result<u32, BuildError> {
        let index = self.flows.len() as u32;
        let mut receiver = Receiver::default();
        let endpoint = match stack {
            None => Endpoint::Udp { sent: 0, armed: None, echo: None },
            Some(stack) => {
                let params = self.stacks.get(stack as usize).ok_or_else(|| BuildError::Stack { name: name.into() })?;
                receiver = Receiver::new(params).map_err(BuildError::Control)?;
                let mut phase = Stream::named(self.seed, &format!("flow/{name}/clock"));
                let phase = Duration::from_nanos(phase.below(params.tick.as_nanos()));
                Endpoint::Tcp(Box::new(Sender::new(index, 0, phase, self.warmup, params).map_err(BuildError::Control)?))
            }
        };
        if self.rtts.len() <= group as usize {
            self.rtts.resize(group as usize + 1, Quantiles::default());
        }
        self.net.flow_counts.push(0);
        self.net.drops.push(0);
        self.flows.push(Flow {
            route,
            group,
            stack: stack.unwrap_or(u32::MAX),
            endpoint,
            receiver,
            application: None,
            application_due: Time::NEVER,
            session,
            opened: Time::ZERO,
            size: 0,
            then: 0,
            completed: 0,
            stats: Default::default(),
            counted: false,
        });
        Ok(index)
    }

    /// Runs to the end, or to `until` if that comes first.
    pub fn run(&mut self, until: Time) {
        let until = until.min(self.net.end);
        while let Some(event) = self.net.schedule.pop(until) {
            self.net.now = event.time;
            match event.kind {
                Kind::Arrival | Kind::Delivery => self.arrive(event.time, self.net.schedule.packet(&event)),
                Kind::Departure => self.depart(event.time, event.entity),
                Kind::SenderTimer => self.sender_timer(event.time, event.entity),
                Kind::ReceiverTimer => self.receiver_timer(event.time, event.entity),
                Kind::Session => self.session_event(event.time, event.entity, self.net.schedule.packet(&event)),
                Kind::Update => {}
            }
        }
    }

    #[inline]
    fn arrive(&mut self, now: Time, mut packet: Packet) {
        if !self.net.heard.is_empty() {
            self.net.hear(now, &packet);
        }
        if let Travel::Ends(time) = self.net.travel(now, &mut packet, true, &mut self.observer) {
            self.end_of_route(time, &packet);
        }
    }

    fn depart(&mut self, now: Time, link: u32) {
        let (mut packet, arrival, next) = self.net.links[link as usize].depart(now);
        self.net.after_kept(now, link, next, &mut self.observer);
        packet.hop += 1;
        if let Travel::Ends(time) = self.net.travel(arrival, &mut packet, false, &mut self.observer) {
            self.end_of_route(time, &packet);
        }
    }

    /// Ends the run: brings every link's accounts to the end and checks that nothing was lost on the way.
    ///
    /// # Errors
    /// What does not balance, in words.
    pub fn finish(&mut self) -> Result<Audit, String> {
        self.run(Time::NEVER);
        let end = self.net.end;
        self.net.links.iter_mut().for_each(|link| link.finish(end));
        let kept: u64 = self.net.links.iter().map(Link::kept).sum();
        self.net.audit.in_flight = self.net.schedule.packets().count() as u64 + kept;
        let audit = self.net.audit;
        if audit.sent != audit.delivered + audit.dropped + audit.in_flight {
            return Err(format!("packets do not balance: {audit:?}"));
        }
        if audit.early > 0 {
            return Err(format!("{} packets arrived before their route's delay was over", audit.early));
        }
        for link in &self.net.links {
            link.check(end)?;
        }
        Ok(audit)
    }

    /// A number that two runs share only if they did the same: over every packet delivered and its time, in whatever
    /// order they were computed.
    pub fn fingerprint(&self) -> u64 {
        self.net.fingerprint
    }

    /// The links that decide or measure, in the order of the configuration; others leave no trace.
    pub fn links(&self) -> &[Link] {
        &self.net.links
    }

    /// The links, to switch on traces.
    pub fn links_mut(&mut self) -> &mut [Link] {
        &mut self.net.links
    }

    /// The distribution of a group's RTT samples within the window of statistics.
    pub fn rtts(&self, group: u32) -> Option<&Quantiles> {
        self.rtts.get(group as usize)
    }

    /// Completed connections.
    pub fn completions(&self) -> &[Completion] {
        &self.completions
    }

    /// Bytes of memory held by flows and what is in flight.
    pub fn memory(&self) -> usize {
        let flow = |flow: &Flow| {
            let endpoint = match &flow.endpoint {
                Endpoint::Tcp(sender) => size_of::<Sender>() + sender.memory(),
                Endpoint::Udp { .. } => 0,
            };
            size_of::<Flow>() + endpoint + flow.receiver.memory() + flow.application.as_ref().map_or(0, |_| size_of::<Application>())
        };
        self.flows.iter().map(flow).sum::<usize>()
            + self.net.schedule.memory()
            + self.net.links.iter().map(Link::memory).sum::<usize>()
            + self.net.lanes.memory()
            + self.net.hops.capacity() * size_of::<Hop>()
    }
}

/// What those who send over a link can tell its queue.
#[derive(Clone, Copy, Default)]
struct Supply {
    /// Some TCP flow sends over it.
    flows: bool,
    /// Some of these write round-trip times into their packets.
    hints: bool,
    /// Some of these open connections or write time stamps, from which a router can tell round-trip times.
    traces: bool,
}

/// What each link's queue can be told.
fn supplies(config: &WorldConfig) -> Vec<Supply> {
    let mut supplies = vec![Supply::default(); config.links.len()];
    let mut add = |links: &[u32], stack: u32| {
        let stack = config.stacks.get(stack as usize);
        let hints = stack.is_some_and(|stack| stack.rtt_hint != RttHint::Off);
        let traces = stack.is_some_and(|stack| stack.handshake != Handshake::None || stack.timestamps);
        for &link in links {
            if let Some(supply) = supplies.get_mut(link as usize) {
                *supply = Supply { flows: true, hints: supply.hints || hints, traces: supply.traces || traces };
            }
        }
    };
    for flow in &config.flows {
        let Some(stack) = flow.stack else { continue };
        add(&flow.forward, stack);
        if flow.traffic.opens_connections() {
            // Its requests.
            add(&flow.back, stack);
        }
    }
    supplies
}

/// Refuses links whose queues need what nobody tells them.
fn check_needs(config: &WorldConfig) -> Result<(), BuildError> {
    for (link, supply) in config.links.iter().zip(supplies(config)).filter(|(link, _)| link.rate.is_some()) {
        let needs = link.controller.aqm.needs();
        let router = link.hints != Hints::Senders;
        let what = match () {
            () if needs.rtt_hints && router && !supply.traces => {
                "round-trip times, which its router can't find out: let TCP flows with a handshake or `timestamps = true` send over it, \
                 or take another discipline"
            }
            () if router => continue,
            () if needs.flow_count && !supply.flows => {
                "the number of active TCP flows: let TCP traffic send over it, or take another discipline"
            }
            () if needs.rtt_hints && !supply.hints => {
                "round-trip times in its packets: let TCP flows with `rtt_hint = true` send over it, let its router find out \
                 (`hints = \"router\"`), or take another discipline"
            }
            () => continue,
        };
        return Err(BuildError::Needs { link: link.name.clone(), what });
    }
    Ok(())
}
