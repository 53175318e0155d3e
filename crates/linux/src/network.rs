//! The network between the kernel's hosts.

use crate::discipline::Task;
use crate::packet::{Packet, flag};
use crate::wiring::Wiring;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sojourn_aqm::algorithms::linux::Qdisc;
use sojourn_aqm::{AqmConfig, HostDecision, HostQueue, ParamError};
use sojourn_net::{
    AckHeader, Audit, Delivery, DropCause, Link, LinkConfig, LinkImpairment, LinkObserver, Network, NetworkBuilder, RouteId, Sink,
    TcpOption, Window, packet_hash,
};
use sojourn_units::Time;

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The packet reached its host.
    Delivered,
    /// A link dropped the packet.
    Dropped,
}

/// A packet that has left the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settled {
    /// The time of the fate.
    pub at: Time,
    /// The packet, marked if a queue marked it.
    pub packet: Packet,
    /// The fate.
    pub fate: Fate,
}

/// An action of a watched link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkAction {
    /// The link received this packet.
    Arrive(Packet),
    /// The link has sent this packet; reported only if it buffers packets.
    Depart(Packet),
    /// The link dropped this packet.
    Drop(DropCause, Packet),
    /// The link marked an arriving or departing packet.
    Mark {
        /// The flow of the packet.
        flow: u32,
    },
}

/// An event at a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkEvent {
    /// The time of the event.
    pub at: Time,
    /// The number of the link.
    pub link: u32,
    /// The action.
    pub action: LinkAction,
}

/// Collects packets that leave the network.
/// They are delivered after the network has run, because a host may send in response.
#[derive(Clone, Default, Debug)]
struct Exit {
    settled: VecDeque<Settled>,
    fingerprint: u64,
    copy: Option<CopyPacket>,
    /// The events of watched links.
    link_events: Option<VecDeque<LinkEvent>>,
}

/// Creates the kernel's copy of a packet and returns its handle.
pub type CopyPacket = fn(u64) -> u64;

impl Exit {
    fn add(&mut self, at: Time, packet: Packet, fate: Fate) {
        self.settled.push_back(Settled { at, packet, fate });
    }

    fn on_link_event(&mut self, at: Time, link: u32, action: LinkAction) {
        if let Some(link_events) = &mut self.link_events {
            link_events.push_back(LinkEvent { at, link, action });
        }
    }
}

impl LinkObserver<Packet> for Exit {
    fn on_drop(&mut self, now: Time, link: u32, cause: DropCause, packet: Packet) {
        self.on_link_event(now, link, LinkAction::Drop(cause, packet));
        self.add(now, packet, Fate::Dropped);
    }

    fn ack_header(&self, packet: &Packet) -> Option<AckHeader> {
        packet.header.ack()
    }

    fn has_option(&self, packet: &Packet, option: TcpOption) -> bool {
        packet.header.has(option)
    }

    fn on_arrival(&mut self, now: Time, link: u32, packet: &Packet) {
        self.on_link_event(now, link, LinkAction::Arrive(*packet));
    }

    fn on_departure(&mut self, now: Time, link: u32, packet: &Packet) {
        self.on_link_event(now, link, LinkAction::Depart(*packet));
    }

    fn on_mark(&mut self, now: Time, link: u32, flow: u32) {
        self.on_link_event(now, link, LinkAction::Mark { flow });
    }

    fn on_duplicate(&mut self, _now: Time, _link: u32, packet: &Packet) -> Option<Packet> {
        let handle = self.copy.map_or(packet.handle, |copy| copy(packet.handle));
        Some(Packet { handle, ..*packet })
    }
}

impl Sink<Packet> for Exit {
    fn on_deliver(&mut self, now: Time, packet: Packet) {
        self.fingerprint = self.fingerprint.wrapping_add(packet_hash(now, packet.flow, u64::from(packet.seq), u16::from(packet.flags)));
        self.add(now, packet, Fate::Delivered);
    }
}

/// A request to create a queue of the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueOrder {
    /// The number of the link.
    pub link: u32,
    /// The largest packet in bytes.
    pub packet: u32,
    /// The kernel's discipline.
    pub qdisc: Qdisc,
}

/// Creates a queue of the kernel, or returns the error.
pub type MakeQueue<'a> = dyn FnMut(&QueueOrder) -> Result<Box<dyn HostQueue>, String> + 'a;

/// The forward and reverse path of a flow.
#[derive(Clone, Copy, Debug)]
struct Routes {
    forward: RouteId,
    back: RouteId,
}

/// The network of a plan between hosts that send at any time.
/// It is deterministic: equal input yields equal output.
#[derive(Clone, Debug)]
pub struct KernelNetwork {
    network: Network<Packet>,
    routes: Vec<Routes>,
    /// The links whose queues are the kernel's.
    /// Each has its number in the plan, and its index among measured links.
    kernel_queues: Vec<(u32, usize)>,
    exit: Exit,
    now: Time,
}

impl KernelNetwork {
    /// The network at time 0. `make` creates queues of the kernel.
    ///
    /// # Errors
    /// A parameter is out of range for its link. The error is a text.
    pub fn new(wiring: &Wiring, make: &mut MakeQueue<'_>) -> Result<Self, String> {
        let mut builder = NetworkBuilder::new(Window { from: wiring.warmup, until: wiring.duration });
        let mut kernel_queues = Vec::new();
        for (number, link) in (0u32..).zip(&wiring.links) {
            let of_queue = |error: ParamError| format!("links.{}.queue.{error}", link.name);
            let mut aqms = Vec::new();
            if let (Some(queue), Some(rate)) = (&link.queue, link.rate) {
                let mut rules = wiring.rules_of(number).iter();
                for queue in queue.disciplines() {
                    let rule = rules.next().cloned().unwrap_or_default();
                    aqms.push((queue.build(rate, link.delay, wiring.packet).map_err(of_queue)?, rule));
                }
            }
            let mut config = LinkConfig::planned(link.clone(), aqms, wiring.seed);
            config.set_dscps(&wiring.dscps());
            if let Some(AqmConfig::Linux(params)) = link.queue.as_ref().map(|queue| &queue.aqm) {
                let own = link.queue.as_ref().map(|queue| queue.in_kernel()).transpose().map_err(of_queue)?.flatten();
                let qdisc = match own {
                    Some(queue) => Qdisc::ours(&Task::new(link, queue, wiring).to_toml()?),
                    None => params.qdisc().map_err(of_queue)?,
                };
                let order = QueueOrder { link: number, packet: wiring.largest_packet(), qdisc };
                config.controller.host = Some(make(&order).map_err(|said| format!("links.{}.queue.linux: {said}", link.name))?);
                kernel_queues.push(number);
            }
            builder.add_link(config);
        }
        let mut routes = Vec::new();
        for flow in &wiring.flows {
            let mut add = |links: &[u32]| {
                let route = builder.add_route(links, Delivery::Deferred, true);
                builder.set_group(flow.group);
                route.map_err(|unknown| format!("flows.{}: expected a link of the plan, got number {}", flow.name, unknown.0))
            };
            routes.push(Routes { forward: add(&flow.forward)?, back: add(&flow.back)? });
        }
        let mut network: Network<Packet> = builder.build();
        (0u32..).zip(&wiring.flows).for_each(|(number, flow)| network.set_hash(number, flow.hash()));
        let place = |number: u32| network.place_of(number).map(|place| (number, place));
        let kernel_queues = kernel_queues.into_iter().filter_map(place).collect();
        Ok(KernelNetwork { network, routes, kernel_queues, exit: Exit::default(), now: Time::ZERO })
    }

    /// Sets the function that copies packets. Without it, duplicates have their packet's handle.
    pub fn set_copies(&mut self, copy: CopyPacket) {
        self.exit.copy = Some(copy);
    }

    /// Sets the hash of a flow, by which queues and routers find its state.
    pub fn set_hash(&mut self, flow: u32, hash: u64) {
        self.network.set_hash(flow, hash);
    }

    /// Ends the window of statistics at `end` instead, after every packet has left the network.
    pub fn end_at(&mut self, end: Time) {
        self.network.end_at(end);
    }

    /// Enables [`KernelNetwork::next_link_event`] for drops and marks of all links.
    pub fn tell_signals(&mut self) {
        self.exit.link_events.get_or_insert_default();
    }

    /// Watches a link of the plan: [`KernelNetwork::next_link_event`] returns its events.
    /// Returns whether the link drops or marks packets after their arrival.
    pub fn watch(&mut self, link: u32) -> bool {
        self.tell_signals();
        let place = self.network.place_of(link);
        place.is_some_and(|place| {
            let link = &mut self.network.links_mut()[place];
            link.watch();
            link.is_buffered()
        })
    }

    /// The next event of a watched link, or drop or mark of any link, in chronological order.
    pub fn next_link_event(&mut self) -> Option<LinkEvent> {
        self.exit.link_events.as_mut()?.pop_front()
    }

    /// The time up to which it has run.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Accepts a packet from a host after executing all earlier events.
    /// Packets of unknown flows are dropped. A time before the last call counts as the last call's time.
    pub fn send(&mut self, now: Time, packet: Packet) {
        self.advance(now);
        let Some(routes) = self.routes.get(packet.flow as usize) else {
            self.exit.add(self.now, packet, Fate::Dropped);
            return;
        };
        let route = if packet.has(flag::BACK) { routes.back } else { routes.forward };
        if let Some(delivered) = self.network.send(self.now, route, packet, &mut self.exit) {
            self.exit.on_deliver(delivered.at, delivered.packet);
        }
    }

    /// Executes all events due by `now`.
    pub fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.network.advance(self.now, &mut self.exit);
    }

    /// Wakes a link: its host-owned queue is ready to send.
    pub fn wake(&mut self, now: Time, link: u32) {
        self.advance(now);
        self.network.wake(self.now, link, &mut self.exit);
    }

    /// The decisions of the kernel's queues since the last call, each with its link's number.
    pub fn take_decisions(&mut self) -> Vec<(u32, HostDecision)> {
        let mut taken = Vec::new();
        for &(number, place) in &self.kernel_queues {
            let decisions = self.network.links_mut()[place].take_host_decisions();
            taken.extend(decisions.into_iter().map(|decision| (number, decision)));
        }
        taken
    }

    /// The next packet that has left the network, in the order of time.
    pub fn settled(&mut self) -> Option<Settled> {
        self.exit.settled.pop_front()
    }

    /// The time of the next event; `None` if none is scheduled.
    /// It is the current time if a packet has left the network.
    pub fn next_event(&mut self) -> Option<Time> {
        if self.exit.settled.is_empty() { self.network.next_event() } else { Some(self.now) }
    }

    /// The sum of a hash per delivered packet; equal for equal runs.
    pub fn fingerprint(&self) -> u64 {
        self.exit.fingerprint
    }

    /// The impairments of all links.
    pub fn impairments(&self) -> &[LinkImpairment] {
        self.network.impairments()
    }

    /// The measured links, in the order of the plan.
    pub fn links(&self) -> &[Link<Packet>] {
        self.network.links()
    }

    /// The measured links, mutable, to start traces.
    pub fn links_mut(&mut self) -> &mut [Link<Packet>] {
        self.network.links_mut()
    }

    /// Ends the run: completes all statistics and performs the audit.
    ///
    /// # Errors
    /// The imbalance as text.
    pub fn finish(&mut self, end: Time) -> Result<Audit, String> {
        self.advance(end);
        self.network.finish(end)
    }
}
