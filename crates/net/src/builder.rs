//! Makes a network from links and routes.

use crate::answers::RouteHops;
use crate::choice::{Choice, Turn};
use crate::contention::{ContentionMap, Order, Outflow};
use crate::hop::{Hop, HopTarget};
use crate::impaired::LinkImpairment;
use crate::link::access::AccessLinks;
use crate::link::{Link, LinkConfig};
use crate::link_ids::LinkIds;
use crate::medium::{Medium, Station};
use crate::network::{Network, Reader, RouteId};
use crate::packet::Packet;
use crate::window::Window;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;
use sojourn_link::Place;
use sojourn_spec::link::AccessLink;
use sojourn_spec::medium::Medium as Shared;
use sojourn_units::Duration;

/// The way in which packets are delivered at the end of a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// Each by an event, in the order of time: for any host.
    /// A route on which packets overtake each other always has this delivery.
    Deferred,
    /// As soon as the delivery time is known, which may be ahead of the network's time.
    /// For a host whose endpoints may run ahead.
    Immediate,
    /// Immediate if a packet waits for an event somewhere on the route, else deferred.
    /// A loop of two routes between endpoints that answer each other needs one such route: otherwise it would never return to the calendar.
    AfterEvent,
}

/// A route names a link that was not added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownLink(pub u32);

/// Builds a network: collects links and routes.
#[derive(Clone, Debug)]
pub struct NetworkBuilder {
    window: Window,
    links: Vec<Added>,
    access_links: AccessLinks,
    readers: Vec<Reader>,
    routes: Vec<Route>,
    /// The links of all routes, one route after the other.
    steps: Vec<u32>,
    hops: usize,
    least_packet: u32,
    all_events: bool,
    links_run_behind: bool,
}

/// A link that was added.
#[derive(Clone, Debug)]
enum Added {
    Link(Box<LinkConfig>),
    /// A link of a single flow, as an index among those.
    AccessLink(usize),
}

/// A route: its links are the next of [`NetworkBuilder::steps`].
#[derive(Clone, Debug)]
struct Route {
    /// The number of its links.
    links: u32,
    /// The number of its hops without the end.
    hops: u32,
    delivery: Delivery,
    shared: bool,
    /// Whether packets of the route before it are answered at once on this one.
    answers: bool,
    /// Whether packets wait for an event before each hop.
    each_hop: bool,
    /// The routes among which its packets choose; none for a route over links.
    choice: Option<Box<(Box<[u32]>, Turn)>>,
    /// The group of its flows, by which classes of links match their packets.
    group: u32,
}

impl NetworkBuilder {
    /// No links and routes yet; statistics are taken within `window`.
    pub fn new(window: Window) -> Self {
        NetworkBuilder {
            window,
            links: Vec::new(),
            access_links: AccessLinks::default(),
            readers: Vec::new(),
            routes: Vec::new(),
            steps: Vec::new(),
            hops: 0,
            least_packet: 1,
            all_events: false,
            links_run_behind: false,
        }
    }

    /// Gives every hop, and every departure of a buffered queue, an event.
    /// It also turns off the other fast paths of links and the network: ACKs do not wait for each other, CoDel does not decide ahead, and
    /// no packet passes a link unexamined. Tests show that this changes no result.
    #[doc(hidden)]
    pub fn all_events(&mut self, all_events: bool) {
        self.all_events = all_events;
    }

    /// Lets links that hold packets run behind the network's time, by less than their delay.
    /// In a network with choices of paths they keep up.
    /// Their drops and marks are then reported late, but in order. This saves time.
    pub fn let_links_run_behind(&mut self) {
        self.links_run_behind = true;
    }

    /// Sets the smallest size of packets in bytes, at least 1, which is the default.
    /// If even the smallest packet takes a nanosecond, packets leave a link at different times, and fewer need an event.
    pub fn least_packet(&mut self, bytes: u32) {
        self.least_packet = bytes.max(1);
    }

    /// Adds a link; returns its number.
    pub fn add_link(&mut self, config: LinkConfig) -> u32 {
        self.readers.extend(config.reverse_link().map(|reads| Reader { link: self.links.len(), reads }));
        self.links.push(Added::Link(Box::new(config)));
        self.links.len() as u32 - 1
    }

    /// Adds links of single flows, with the next free numbers.
    /// No router reads the packets on them.
    pub fn add_access_links(&mut self, links: &[AccessLink]) {
        self.links.reserve_exact(links.len());
        self.access_links.reserve(links.len());
        self.links.extend(links.iter().map(|link| Added::AccessLink(self.access_links.add(link))));
    }

    /// Reserves memory for `more` routes with this many links each.
    pub fn reserve_routes(&mut self, more: usize, links: usize) {
        self.routes.reserve_exact(more);
        self.steps.reserve_exact(more * links);
    }

    /// Adds a route over these links, in order.
    /// `shared` is whether several endpoints use it, which may send at the same time. All links whose routers read packets of one of these
    /// must have been added.
    ///
    /// # Errors
    /// A link that was not added.
    pub fn add_route(&mut self, links: &[u32], delivery: Delivery, shared: bool) -> Result<RouteId, UnknownLink> {
        let mut hops = 0;
        for &link in links {
            hops += match self.links.get(link as usize).ok_or(UnknownLink(link))? {
                Added::Link(config) => config.hops() + usize::from(is_read(&self.readers, link)),
                Added::AccessLink(_) => 1,
            }
        }
        self.steps.extend_from_slice(links);
        let (links, hops) = (links.len() as u32, hops as u32);
        Ok(self.add(Route { links, hops, delivery, shared, each_hop: false, answers: false, choice: None, group: u32::MAX }))
    }

    fn add(&mut self, route: Route) -> RouteId {
        let id = RouteId(self.hops as u32);
        self.hops += route.hops as usize + 1;
        self.routes.push(route);
        id
    }

    /// Adds a route whose packets, of flows of this group, take one of these paths.
    /// Packets on them may overtake each other. They wait for an event on each hop, and so do others before the same links: simultaneous
    /// arrivals then have an order that does not depend on elided events.
    ///
    /// # Errors
    /// A link that was not added.
    pub fn add_choice(&mut self, paths: &[Vec<u32>], turn: Turn, shared: bool, group: u32) -> Result<RouteId, UnknownLink> {
        let mut begins = Vec::with_capacity(paths.len());
        for links in paths {
            begins.push(self.add_route(links, Delivery::Deferred, shared)?.0);
            self.set_group(group);
            self.routes.iter_mut().last().into_iter().for_each(|route| route.each_hop = true);
        }
        let choice = Some(Box::new((begins.into(), turn)));
        let delivery = Delivery::Immediate;
        Ok(self.add(Route { links: 0, hops: 0, delivery, shared, each_hop: false, answers: false, choice, group }))
    }

    /// Declares that the route added last carries only answers to the route added before it.
    /// The endpoint there sends an answer as soon as a packet arrives.
    pub fn answers_at_once(&mut self) {
        if let [.., _, route] = &mut self.routes[..] {
            route.answers = true;
        }
    }

    /// Sets the group of the flows on the route added last, for links with classes.
    pub fn set_group(&mut self, group: u32) {
        if let Some(route) = self.routes.last_mut() {
            route.group = group;
        }
    }

    /// The smallest propagation delay of a path over these links.
    ///
    /// # Errors
    /// A link that was not added.
    pub fn least_delay(&self, links: &[u32]) -> Result<Duration, UnknownLink> {
        links.iter().try_fold(Duration::ZERO, |sum, &link| {
            let delay = match self.links.get(link as usize).ok_or(UnknownLink(link))? {
                Added::Link(config) => config.least_delay(),
                &Added::AccessLink(at) => self.access_links.delay(at),
            };
            Ok(sum + delay)
        })
    }

    /// The network at time 0.
    pub fn build<P: Packet>(self) -> Network<P> {
        let (mut links, mut access_links) = (Vec::new(), self.access_links);
        let (mut impairments, mut impaired) = (Vec::new(), Vec::new());
        let (mut ids, mut transit_times) = (LinkIds::default(), Vec::new());
        let (mut media, mut stations) = (Vec::new(), Vec::new());
        let numbered = (0u32..).zip(self.links);
        let targets = numbered.map(|(id, added)| {
            let mut config = match added {
                Added::Link(config) => *config,
                Added::AccessLink(at) => {
                    ids.add_access_link(at, id);
                    return HopTarget::AccessLink(at);
                }
            };
            // A link whose packets a router reads is not an access link: those have no room for readers.
            if config.is_access_link() && !is_read(&self.readers, id) {
                let at = access_links.add(&config.as_access_link());
                ids.add_access_link(at, id);
                HopTarget::AccessLink(at)
            } else {
                ids.add_link(id);
                transit_times.push(config.transit_times());
                let first = impairments.len();
                let of_link = core::mem::take(&mut config.impairments).0.into_iter();
                impairments.extend(of_link.map(|started| LinkImpairment::new(started, links.len(), self.window)));
                impaired.push(first..impairments.len());
                stations.push(config.link.medium.clone().map(|medium| station(medium, config.seed, &mut media)));
                links.push(Link::new(config, self.window));
                HopTarget::Link(links.len() - 1)
            }
        });
        let targets: Vec<HopTarget> = targets.collect();
        ids.finish();
        let mut network = Network::new(links, access_links, transit_times, ids, self.window);
        (network.media, network.stations) = (media, stations);
        network.least_packet = self.least_packet;
        network.add_readers(&self.readers, &targets);
        network.impairments = impairments;
        network.hops = hops(
            &self.routes,
            &self.steps,
            &targets,
            &LinkExtras { impairments: &network.impairments, of_links: &impaired, readers: &self.readers },
        );
        drop((targets, self.steps));
        let choices = self.routes.iter().filter_map(|route| route.choice.as_deref().cloned());
        network.choices = choices.map(|(routes, turn)| Choice::new(routes, turn)).collect();
        defer(&mut network, &self.routes, self.all_events);
        let begins = self.routes.iter().scan(0, |next, route| {
            let begin = *next;
            *next += route.hops + 1;
            Some(begin)
        });
        network.add_discard_routes(begins);
        network.tell_classes(self.routes.iter().map(|route| (route.hops + 1, route.group)));
        // What a packet with a choice of paths meets depends on the order of all arrivals.
        if self.links_run_behind && network.choices.is_empty() {
            network.links.iter_mut().for_each(Link::run_behind);
        }
        if self.all_events {
            network.take_no_shortcuts();
        } else {
            mark_last(&mut network.hops);
        }
        network
    }
}

/// Adds a link to its medium, creating the medium for the first link.
fn station(medium: Arc<Shared>, seed: u64, media: &mut Vec<Medium>) -> Station {
    let known = media.iter().position(|known| known.name() == medium.name);
    let at = known.unwrap_or_else(|| {
        media.push(Medium::new(medium, seed));
        media.len() - 1
    });
    Station { medium: at, contends: false }
}

/// Marks the links at whose end a route ends, so that the end's hop need not be read.
fn mark_last(hops: &mut [Hop]) {
    let end = Hop::new(HopTarget::End);
    for at in 1..hops.len() {
        if hops[at] == end && matches!(hops[at - 1].target(), HopTarget::Link(_) | HopTarget::AccessLink(_)) {
            hops[at - 1] = hops[at - 1].last();
        }
    }
}

/// Whether a router reads the packets of the link with this number.
fn is_read(readers: &[Reader], number: u32) -> bool {
    readers.iter().any(|reader| reader.reads == number)
}

/// The parts of links besides their queues.
/// They are all impairments, their positions for each link that decides or measures, and the routers that read packets of links.
struct LinkExtras<'a> {
    impairments: &'a [LinkImpairment],
    of_links: &'a [Range<usize>],
    readers: &'a [Reader],
}

/// The table of hops, none of them deferred yet; `steps` has the links of all routes.
/// The impairments of a link are hops before and after it. Routers that read its packets come behind them.
fn hops(routes: &[Route], mut steps: &[u32], targets: &[HopTarget], extras: &LinkExtras<'_>) -> Vec<Hop> {
    let mut choices = 0;
    let mut hops = Vec::with_capacity(routes.iter().map(|route| route.hops as usize + 1).sum());
    for route in routes {
        let (links, others) = steps.split_at(route.links as usize);
        steps = others;
        for (number, target) in links.iter().map(|&number| (number, targets[number as usize])) {
            let own = if let HopTarget::Link(link) = target { extras.of_links[link].clone() } else { 0..0 };
            let own = own.map(|at| (at, &extras.impairments[at]));
            let at = |place| {
                let here = own.clone().filter(move |(_, impairment)| impairment.place() == place);
                here.map(|(at, _)| Hop::new(HopTarget::Impairment(at)))
            };
            hops.extend(at(Place::BeforeQueue));
            hops.push(Hop::new(target));
            hops.extend(at(Place::AfterQueue));
            if let HopTarget::Link(link) = target
                && is_read(extras.readers, number)
            {
                hops.push(Hop::new(HopTarget::Reading(link)));
            }
        }
        hops.push(Hop::new(if route.choice.is_none() { HopTarget::End } else { HopTarget::Choice(choices) }));
        choices += usize::from(route.choice.is_some());
    }
    hops
}

/// Targets at which all packets wait for an event, although nothing is decided there.
/// Either a route has an event before each hop, or routers read there and arrivals are not known in advance.
fn by_events<P: Packet>(network: &Network<P>, routes: &[Route]) -> BTreeSet<HopTarget> {
    let unforeseen = |target: &HopTarget| matches!(target, &HopTarget::Reading(link) if !network.foresees_reading(link));
    let has_readings = network.has_readers();
    if !has_readings && routes.iter().all(|route| !route.each_hop) {
        return BTreeSet::new();
    }
    let each_hop = routes.iter().flat_map(|route| core::iter::repeat_n(route.each_hop, route.hops as usize + 1));
    let targets = network.hops.iter().map(|hop| hop.target()).zip(each_hop);
    targets.filter_map(|(target, each_hop)| (each_hop || unforeseen(&target)).then_some(target)).collect()
}

/// Decides before which hops packets wait.
fn defer<P: Packet>(network: &mut Network<P>, routes: &[Route], all_events: bool) {
    let mut contention = ContentionMap::with_room(network.access_links.len());
    let mut begin = 0;
    let mut before: Option<Outflow> = None;
    let mut reordered = Vec::with_capacity(routes.len());
    for route in routes {
        let answered = before.filter(|_| route.answers).and_then(Outflow::answered);
        let start = answered.unwrap_or(Outflow::from_endpoint(begin, route.shared));
        let outflow = contention.add_route(&network.hops, begin, start, |target| network.order(target));
        reordered.push(outflow.reordered);
        before = Some(outflow);
        begin += route.hops as usize + 1;
    }
    let by_events = by_events(network, routes);
    for at in 0..network.hops.len() {
        let target = network.hops[at].target();
        // After an event without delay packets come in the order of time, simultaneous ones in that of their flows.
        let follows = at > 0 && {
            let before = network.hops[at - 1];
            before.needs_event() && !before.is_passing() && network.order(before.target()) == Order::Thinned
        };
        let in_order = matches!(target, HopTarget::Link(link) if network.links[link].needs_order() && !follows);
        let meets = !target.ends_route() && (contention.has_contention(target) || in_order);
        if meets {
            network.hops[at] = network.hops[at].deferred();
        } else if !target.ends_route() && (all_events || by_events.contains(&target)) {
            network.hops[at] = network.hops[at].passing().deferred();
        }
    }
    let mut begin = 0;
    for (route, reordered) in routes.iter().zip(reordered) {
        let end = begin + route.hops as usize;
        let waits = network.hops[begin..end].iter().any(|hop| hop.needs_event());
        if route.delivery == Delivery::Deferred || (route.delivery == Delivery::AfterEvent && !waits) || reordered {
            network.hops[end] = network.hops[end].deferred();
        }
        begin = end + 1;
    }
    if !all_events {
        let hops = routes.iter().scan(0, |next, route| {
            let begin = *next;
            *next += route.hops as usize + 1;
            Some(RouteHops { hops: begin..*next, answers: route.answers })
        });
        network.order_answers(hops);
    }
}
