//! Makes a network from links and routes.

use crate::choice::{Choice, Turn};
use crate::contention::{ContentionMap, Outflow};
use crate::hop::{Hop, HopTarget};
use crate::impaired::LinkImpairment;
use crate::link::access::AccessLinks;
use crate::link::{Link, LinkConfig};
use crate::medium::{Medium, Station};
use crate::network::{LinkIds, Network, RouteId};
use crate::packet::Packet;
use crate::window::Window;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use sojourn_link::Place;
use sojourn_spec::medium::Medium as Shared;
use sojourn_units::Duration;

/// How packets that reach the end of a route are delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// Each by an event, in the order of time: for any host. A route on which packets overtake each other has this delivery always.
    Deferred,
    /// As soon as its time is known, which may be ahead of the network's time: for a host whose endpoints may run ahead.
    Immediate,
    /// Immediate if a packet waits for an event somewhere on the route, else deferred. A loop of two routes between endpoints that
    /// answer each other needs one such route, or the loop would never come back to the calendar.
    AfterEvent,
}

/// A route names a link that was not added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownLink(pub u32);

/// Links and routes of a network to come.
#[derive(Clone, Debug)]
pub struct NetworkBuilder {
    window: Window,
    links: Vec<LinkConfig>,
    routes: Vec<Route>,
    hops: usize,
    all_events: bool,
}

#[derive(Clone, Debug)]
struct Route {
    links: Vec<u32>,
    /// Its hops without the end.
    hops: usize,
    delivery: Delivery,
    shared: bool,
    /// The route whose packets are answered at once on this one, as its number among all.
    answers: Option<usize>,
    /// Whether packets wait for an event before each hop.
    each_hop: bool,
    /// The first hops of the routes between which its packets choose, and when; none for a route over links.
    choice: Option<(Box<[u32]>, Turn)>,
    /// The group of the flows on it, by which classes of links know their packets.
    group: u32,
}

impl NetworkBuilder {
    /// No links and routes yet; statistics are taken within `window`.
    pub fn new(window: Window) -> Self {
        NetworkBuilder { window, links: Vec::new(), routes: Vec::new(), hops: 0, all_events: false }
    }

    /// Makes every hop an event, so that tests can show that leaving out events changes nothing.
    #[doc(hidden)]
    pub fn all_events(&mut self, all_events: bool) {
        self.all_events = all_events;
    }

    /// Adds a link; gives its number.
    pub fn add_link(&mut self, config: LinkConfig) -> u32 {
        self.links.push(config);
        self.links.len() as u32 - 1
    }

    /// Adds a route over these links, in order. `shared` says that several endpoints, which may send at the same time, use it.
    ///
    /// # Errors
    /// A link that was not added.
    pub fn add_route(&mut self, links: &[u32], delivery: Delivery, shared: bool) -> Result<RouteId, UnknownLink> {
        if let Some(&unknown) = links.iter().find(|&&link| link as usize >= self.links.len()) {
            return Err(UnknownLink(unknown));
        }
        let hops = links.iter().map(|&link| 1 + self.links[link as usize].impairments.0.len()).sum();
        let route = Route { links: links.to_vec(), hops, delivery, shared, each_hop: false, answers: None, choice: None, group: u32::MAX };
        Ok(self.add(route))
    }

    fn add(&mut self, route: Route) -> RouteId {
        let id = RouteId(self.hops as u32);
        self.hops += route.hops + 1;
        self.routes.push(route);
        id
    }

    /// Adds a route whose packets, of flows of this group, take one of these paths. Packets on them may overtake each other. On each hop
    /// they wait for an event, and so do others before the same links: those that arrive at the same time come in an order that does not
    /// depend on what is an event.
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
        let choice = Some((begins.into(), turn));
        let (links, delivery) = (Vec::new(), Delivery::Immediate);
        Ok(self.add(Route { links, hops: 0, delivery, shared, each_hop: false, answers: None, choice, group }))
    }

    /// Says that what is sent on the route added last is sent at once when a packet reaches the end of the route added before it, by
    /// the endpoint there: nothing else is sent on it.
    pub fn answers_at_once(&mut self) {
        let before = self.routes.len().checked_sub(2);
        if let Some(route) = self.routes.last_mut() {
            route.answers = before;
        }
    }

    /// Says of which group the flows are that use the route added last, for links with classes.
    pub fn set_group(&mut self, group: u32) {
        if let Some(route) = self.routes.last_mut() {
            route.group = group;
        }
    }

    /// The least propagation delay over these links.
    ///
    /// # Errors
    /// A link that was not added.
    pub fn least_delay(&self, links: &[u32]) -> Result<Duration, UnknownLink> {
        links.iter().try_fold(Duration::ZERO, |sum, &link| {
            self.links.get(link as usize).map(|config| sum + config.least_delay()).ok_or(UnknownLink(link))
        })
    }

    /// The network at time 0.
    pub fn build<P: Packet>(self) -> Network<P> {
        let reverse_links: Vec<Option<u32>> = self.links.iter().map(LinkConfig::reverse_link).collect();
        // A link whose packets a router reads is no access link: those have no place for listeners.
        let mut is_read = vec![false; self.links.len()];
        for &reverse in reverse_links.iter().flatten() {
            if let Some(is_read) = is_read.get_mut(reverse as usize) {
                *is_read = true;
            }
        }
        let (mut links, mut access_links, mut targets) = (Vec::new(), AccessLinks::default(), Vec::new());
        let (mut impairments, mut impaired) = (Vec::new(), Vec::new());
        let (mut ids, mut transit_times) = (LinkIds::default(), Vec::new());
        let (mut media, mut stations) = (Vec::new(), Vec::new());
        for ((id, mut config), is_read) in (0u32..).zip(self.links).zip(is_read) {
            targets.push(if config.is_access_link() && !is_read {
                ids.access_links.push(id);
                HopTarget::AccessLink(access_links.add(&config) as usize)
            } else {
                ids.links.push(id);
                transit_times.push(config.transit_times());
                let first = impairments.len();
                let of_link = core::mem::take(&mut config.impairments).0.into_iter();
                impairments.extend(of_link.map(|started| LinkImpairment::new(started, links.len(), self.window)));
                impaired.push(first..impairments.len());
                stations.push(config.link.medium.clone().map(|medium| station(medium, config.seed, &mut media)));
                links.push(Link::new(config, self.window));
                HopTarget::Link(links.len() - 1)
            });
        }
        access_links.shrink();
        let mut network = Network::new(links, access_links, transit_times, ids, self.window);
        (network.media, network.stations) = (media, stations);
        network.ack_listeners = ack_listeners(&network.links, &reverse_links, &targets);
        network.impairments = impairments;
        network.hops = hops(&self.routes, &targets, &network.impairments, &impaired);
        let choices = self.routes.iter().filter_map(|route| route.choice.clone());
        network.choices = choices.map(|(routes, turn)| Choice::new(routes, turn)).collect();
        defer(&mut network, &self.routes, self.all_events);
        let begins = self.routes.iter().scan(0, |next, route| {
            let begin = *next;
            *next += route.hops as u32 + 1;
            Some(begin)
        });
        network.add_discard_routes(begins);
        network.tell_classes(self.routes.iter().map(|route| (route.hops as u32 + 1, route.group)));
        mark_last(&mut network.hops);
        network
    }
}

/// A link of a medium, which joins those that there are.
fn station(medium: Arc<Shared>, seed: u64, media: &mut Vec<Medium>) -> Station {
    let known = media.iter().position(|known| known.name() == medium.name);
    let at = known.unwrap_or_else(|| {
        media.push(Medium::new(medium, seed));
        media.len() - 1
    });
    Station { medium: at, contends: false }
}

/// Marks the links after which a packet is at the end of its route at once, so that it need not look at that hop.
fn mark_last(hops: &mut [Hop]) {
    let end = Hop::new(HopTarget::End);
    for at in 1..hops.len() {
        if hops[at] == end && matches!(hops[at - 1].target(), HopTarget::Link(_) | HopTarget::AccessLink(_)) {
            hops[at - 1] = hops[at - 1].last();
        }
    }
}

/// The table of hops, none of them deferred yet. The impairments of a link are hops before and after it: `impaired` has their
/// positions for each link that decides or measures.
fn hops(routes: &[Route], targets: &[HopTarget], impairments: &[LinkImpairment], impaired: &[Range<usize>]) -> Vec<Hop> {
    let mut choices = 0;
    let mut hops = Vec::with_capacity(routes.iter().map(|route| route.hops + 1).sum());
    for route in routes {
        for target in route.links.iter().map(|&link| targets[link as usize]) {
            let own = if let HopTarget::Link(link) = target { impaired[link].clone() } else { 0..0 };
            let at = |place| own.clone().filter(move |&at| impairments[at].place() == place).map(|at| Hop::new(HopTarget::Impairment(at)));
            hops.extend(at(Place::BeforeQueue));
            hops.push(Hop::new(target));
            hops.extend(at(Place::AfterQueue));
        }
        hops.push(Hop::new(if route.choice.is_none() { HopTarget::End } else { HopTarget::Choice(choices) }));
        choices += usize::from(route.choice.is_some());
    }
    hops
}

/// For each link those whose routers read what comes over it; empty where no router does.
fn ack_listeners<P: Packet>(links: &[Link<P>], reverse_links: &[Option<u32>], targets: &[HopTarget]) -> Vec<Vec<u32>> {
    let mut listeners = Vec::new();
    for (target, reverse) in targets.iter().zip(reverse_links) {
        if let (&HopTarget::Link(link), &Some(reverse)) = (target, reverse)
            && let Some(&HopTarget::Link(reverse)) = targets.get(reverse as usize)
            && links[link].reads_headers()
        {
            listeners.resize(links.len(), Vec::new());
            listeners[reverse].push(link as u32);
        }
    }
    listeners
}

/// Where all packets wait for an event, because those of a route with one before each hop do.
fn by_events(hops: &[Hop], routes: &[Route]) -> BTreeSet<HopTarget> {
    let each_hop = routes.iter().flat_map(|route| core::iter::repeat_n(route.each_hop, route.hops + 1));
    hops.iter().zip(each_hop).filter_map(|(hop, each_hop)| each_hop.then_some(hop.target())).collect()
}

/// Decides which hops a packet waits before.
fn defer<P: Packet>(network: &mut Network<P>, routes: &[Route], all_events: bool) {
    let mut contention = ContentionMap::default();
    let mut begin = 0;
    let mut outflows: Vec<Outflow> = Vec::with_capacity(routes.len());
    for route in routes {
        let answered = route.answers.and_then(|answered| outflows[answered].answered());
        let start = answered.unwrap_or(Outflow::from_endpoint(begin, route.shared));
        outflows.push(contention.add_route(&network.hops, begin, start, |target| network.order(target)));
        begin += route.hops + 1;
    }
    let by_events = by_events(&network.hops, routes);
    for at in 0..network.hops.len() {
        let target = network.hops[at].target();
        // A link that gets the number of active flows at given times must get packets in the order of time too.
        let in_order = matches!(target, HopTarget::Link(link) if network.links[link].is_buffered() || network.links[link].counts_flows());
        let meets = !target.ends_route() && (contention.has_contention(target) || in_order);
        if meets || network.is_read(at) {
            network.hops[at] = network.hops[at].deferred();
        } else if !target.ends_route() && (all_events || by_events.contains(&target)) {
            network.hops[at] = network.hops[at].passing().deferred();
        }
    }
    let mut begin = 0;
    for (route, outflow) in routes.iter().zip(outflows) {
        let end = begin + route.hops;
        let waits = network.hops[begin..end].iter().any(|hop| hop.needs_event());
        if route.delivery == Delivery::Deferred || (route.delivery == Delivery::AfterEvent && !waits) || outflow.reordered {
            network.hops[end] = network.hops[end].deferred();
        }
        begin = end + 1;
    }
}
