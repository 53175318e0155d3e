//! Assigns hosts to the sides of the link.

use super::datagrams::Datagrams;
use super::flows::Flow;
use super::load::Load;
use std::collections::HashMap;
use std::net::IpAddr;

/// A location on one side of the link.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Host(IpAddr),
    /// A station of the link layer.
    Station(u64),
    /// The origin of packets that are captured at this interface.
    Before(usize),
    /// The destination of packets that are captured at this interface.
    Behind(usize),
}

/// A TCP or UDP flow.
struct Talk<'a> {
    start: u64,
    hosts: [IpAddr; 2],
    stations: Option<[u64; 2]>,
    loads: [&'a Load; 2],
    /// The sender of most of the data.
    data: usize,
    left: &'a mut bool,
}

impl Talk<'_> {
    /// Pairs of locations on opposite sides of the link, most certain first.
    fn opposites(&self) -> impl Iterator<Item = [Place; 2]> + use<> {
        let interfaces = self.loads[0].interface.zip(self.loads[1].interface).filter(|(there, back)| there != back);
        let interfaces = interfaces.map(|(there, back)| [Place::Before(there), Place::Before(back)]);
        // If each flow has a single direction, the interface may capture only one direction.
        let single = match self.loads.map(|load| load.interface) {
            [Some(there), None] => Some([Place::Before(there), Place::Behind(there)]),
            [None, Some(back)] => Some([Place::Behind(back), Place::Before(back)]),
            _ => None,
        };
        let stations = self.stations.map(|stations| stations.map(Place::Station));
        interfaces.into_iter().chain([self.hosts.map(Place::Host)]).chain(stations).chain(single)
    }
}

/// Assigns the ends of each flow to the sides of the link.
/// The first sender of data is on the left. Flows that share an interface, a host or a station share a side. Returns the number of groups
/// of flows without such a relation to earlier ones. Their clients are put on the side of the first client, which is a guess.
pub(super) fn assign(flows: &mut [Flow], datagrams: &mut [Datagrams]) -> usize {
    let tcp = flows.iter_mut().filter(|flow| flow.ways[flow.data()].bytes > 0).map(|flow| {
        let [there, back] = &flow.ways;
        let (data, loads, hosts) = (usize::from(back.bytes > there.bytes), [&there.load, &back.load], flow.ends.map(|end| end.ip()));
        Talk { start: flow.start, hosts, stations: flow.stations, loads, data, left: &mut flow.left }
    });
    let udp = datagrams.iter_mut().map(|flow| {
        let [there, back] = &flow.ways;
        let (data, loads, hosts) = (usize::from(back.bytes > there.bytes), [&there.load, &back.load], flow.ends.map(|end| end.ip()));
        Talk { start: there.first, hosts, stations: flow.stations, loads, data, left: &mut flow.left }
    });
    let mut talks: Vec<Talk<'_>> = tcp.chain(udp).collect();
    talks.sort_by_key(|talk| talk.start);
    let (mut sides, mut guesses) = (HashMap::new(), 0);
    for talk in &mut talks {
        let known =
            talk.opposites().find_map(|[own, other]| sides.get(&own).copied().or_else(|| sides.get(&other).map(|left: &bool| !left)));
        guesses += usize::from(known.is_none());
        let left = known.unwrap_or(true);
        for [own, other] in talk.opposites() {
            sides.entry(own).or_insert(left);
            sides.entry(other).or_insert(!left);
        }
        *talk.left = left;
    }
    let turned = talks.first().is_some_and(|first| *first.left != (first.data == 0));
    talks.iter_mut().for_each(|talk| *talk.left ^= turned);
    guesses.saturating_sub(1)
}
