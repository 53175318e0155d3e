//! Times networks other than a dumbbell, with NewReno flows over DropTail.
//! Usage: `topology parking-lot|fat-tree FLOWS MBIT SECONDS`.
//!
//! The parking lot has five hops in a row: one flow in six crosses all of them, the others one each. The 4-ary fat tree has 16 hosts, which
//! share their links, and 20 switches; a flow uses one of the shortest paths between two hosts.

use sojourn_aqm::{Amount, AqmConfig, QueueController};
use sojourn_sim::tcp::*;
use sojourn_sim::*;
use sojourn_spec::flow::Flow;
use sojourn_spec::link::{Link as PlannedLink, Measure};
use sojourn_traffic::Traffic;
use sojourn_units::*;
use std::collections::BTreeMap;

const HOPS: u32 = 5;
/// The number of hosts, and of switches of each kind, in a pod of the fat tree.
const HOSTS: u32 = 4;
const SWITCHES: u32 = 2;
const PODS: u32 = 4;

/// A network under construction: links are made when a route first uses them.
struct Topology {
    rate: Rate,
    links: Vec<LinkConfig>,
    known: BTreeMap<(String, String), u32>,
}

impl Topology {
    /// The link between two places; links of single flows count only packets.
    fn link(&mut self, from: &str, to: &str, of_one_flow: bool) -> u32 {
        let key = (from.to_string(), to.to_string());
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let delay = Duration::from_micros(100);
        let limit = 250;
        let served = sojourn_aqm::Link { rate: self.rate, delay, mean_packet: 1040, limit_packets: limit };
        let aqm = AqmConfig::DropTail(Default::default()).build(&served).unwrap();
        let name = format!("{from}>{to}");
        let controller = QueueController::new(aqm, Amount::Packets(limit), false, Stream::named(1, &name));
        let measure = if of_one_flow { Measure::Counts } else { Measure::Moments };
        self.links.push(LinkConfig::new(PlannedLink { name, rate: Some(self.rate), delay, measure, ..PlannedLink::default() }, controller));
        self.known.insert(key, self.links.len() as u32 - 1);
        self.links.len() as u32 - 1
    }

    /// The links along these places, and the links of the reverse path.
    fn routes(&mut self, places: &[String], hosts_are_shared: bool) -> (Vec<u32>, Vec<u32>) {
        let last = places.len() - 2;
        let mut along = |places: &[String]| -> Vec<u32> {
            let hops = places.windows(2).enumerate();
            hops.map(|(at, pair)| self.link(&pair[0], &pair[1], !hosts_are_shared && (at == 0 || at == last))).collect()
        };
        let forward = along(places);
        let back: Vec<String> = places.iter().rev().cloned().collect();
        (forward, along(&back))
    }
}

/// The places in a parking lot through which a flow passes.
fn parking_lot(flow: u32) -> Vec<String> {
    let (first, last) = if flow.is_multiple_of(HOPS + 1) { (0, HOPS) } else { (flow % (HOPS + 1) - 1, flow % (HOPS + 1)) };
    let routers = (first..=last).map(|at| format!("r{at}"));
    [format!("s{flow}")].into_iter().chain(routers).chain([format!("d{flow}")]).collect()
}

/// The places in a 4-ary fat tree through which a flow passes.
/// Each host sends to every other one.
fn fat_tree(flow: u32) -> Vec<String> {
    let hosts = PODS * HOSTS;
    let (from, to) = (flow % hosts, (flow + 1 + flow / hosts % (hosts - 1)) % hosts);
    let way = flow / hosts;
    let edge = |host: u32| format!("e{}.{}", host / HOSTS, host % HOSTS / SWITCHES);
    let aggregation = |host: u32| format!("a{}.{}", host / HOSTS, way % SWITCHES);
    let core = format!("c{}.{}", way % SWITCHES, way / SWITCHES % SWITCHES);
    let mut places = vec![format!("h{from}"), edge(from)];
    if edge(from) != edge(to) {
        places.push(aggregation(from));
        if from / HOSTS != to / HOSTS {
            places.extend([core, aggregation(to)]);
        }
        places.push(edge(to));
    }
    places.push(format!("h{to}"));
    places
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let number = |at: usize| words[at].parse::<f64>().unwrap();
    let (flows, seconds) = (number(2) as u32, number(4));
    let is_tree = words[1] == "fat-tree";
    let rate = Rate::from_bps((number(3) * 1e6) as u64).unwrap();
    let mut topology = Topology { rate, links: Vec::new(), known: BTreeMap::new() };
    let configs: Vec<Flow> = (0..flows)
        .map(|flow| {
            let places = if is_tree { fat_tree(flow) } else { parking_lot(flow) };
            let (forward, back) = topology.routes(&places, is_tree);
            let start = Time::from_secs_f64(0.1 * f64::from(flow) / f64::from(flows));
            let name = format!("f{flow}");
            Flow {
                name,
                group: 0,
                forward,
                back,
                paths: None,
                stack: Some(0),
                traffic: Traffic::default(),
                start,
                stop: Time::NEVER,
                host: None,
            }
        })
        .collect();
    let (window, initial_ssthresh) = (10_000, 10_000.0);
    let config = WorldConfig {
        seed: 1,
        end: Time::from_secs_f64(seconds),
        warmup: Time::from_secs_f64(seconds * 0.1),
        links: topology.links,
        access_links: Default::default(),
        stacks: vec![TcpOptions { recovery: Recovery::NewReno, window, initial_ssthresh, ..TcpOptions::ns2() }],
        flows: configs.into(),
        all_events: false,
    };
    let mut world = World::new(config).unwrap();
    let memory = world.memory();
    #[allow(clippy::disallowed_methods)]
    let begin = std::time::Instant::now();
    let audit = world.finish().unwrap();
    let wall = begin.elapsed().as_secs_f64();
    let passed: u64 = world.links().iter().map(|link| link.counters().arrived).sum();
    println!(
        "{passed} packets over links, {} sent, {:.2} M/s over links, {wall:.3} s; {} B/flow; fp {:x}",
        audit.sent,
        passed as f64 / wall / 1e6,
        memory / flows as usize,
        world.fingerprint()
    );
}
