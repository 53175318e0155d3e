//! Times a dumbbell:
//! `dumbbell FLOWS MBIT SECONDS RTT_MS LIMIT_PACKETS [sack] [full] [ecn] [l4s] [accecn] [tcp=PROFILE] [router] [loss] [loss-after] [direct] [AQM] [CONTROLLER]`.
//! AQM and controller are names of the registries, and the profile is `linux`, `ns2-linux` or else that of ns-2. With `router` the router
//! reads headers for the hints that an AQM needs, and with `direct` the receivers stand at the end of the bottleneck, without access links.

use sojourn_aqm::{Amount, AqmConfig, QueueController, REGISTRY};
use sojourn_link::kinds::loss;
use sojourn_link::{ImpairmentConfig, Impairments, Per, Place};
use sojourn_sim::tcp::*;
use sojourn_sim::*;
use sojourn_spec::flow::Flow;
use sojourn_spec::link::{AccessLink, Link as PlannedLink, Measure};
use sojourn_spec::queue::{Hints, Queue, QueueOptions};
use sojourn_traffic::Traffic;
use sojourn_units::*;
use std::borrow::Cow;
use std::sync::Arc;

/// Random loss that drops no packet in a run of a few million packets.
/// It shows the cost of an impairment.
fn rare_loss(place: Place) -> ImpairmentConfig {
    ImpairmentConfig { place, ..loss::Params { probability: 1e-15, per: Per::Packet }.into() }
}

fn controller(name: &str, link: &sojourn_aqm::Link, ecn: bool, label: &str) -> QueueController {
    let config: AqmConfig = (REGISTRY.iter().find(|e| e.name == name).unwrap().default)();
    QueueController::new(config.build(link).unwrap(), Amount::Packets(link.limit_packets), ecn, Stream::named(1, label))
}

/// The arguments of the command line: numbers, then words.
struct Arguments {
    flows: u32,
    rate: Rate,
    seconds: f64,
    rtt: f64,
    limit: u32,
    words: Vec<String>,
}

impl Arguments {
    fn read() -> Arguments {
        let mut words = std::env::args().skip(1);
        let mut number = || words.next().and_then(|word| word.parse::<f64>().ok()).expect("FLOWS MBIT SECONDS RTT_MS LIMIT_PACKETS");
        let (flows, mbit, seconds, rtt_ms, limit) = (number(), number(), number(), number(), number());
        let (rate, rtt) = (Rate::from_bps((mbit * 1e6) as u64).unwrap(), rtt_ms * 1e-3);
        Arguments { flows: flows as u32, rate, seconds, rtt, limit: limit as u32, words: words.collect() }
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|each| each == word)
    }

    /// A share of the round-trip time.
    fn delay(&self, share: f64) -> Duration {
        Duration::from_secs_f64(self.rtt * share)
    }

    fn aqm(&self) -> &str {
        let named = self.words.iter().find(|word| REGISTRY.iter().any(|entry| entry.name == *word));
        named.map_or("droptail", String::as_str)
    }
}

fn link(arguments: &Arguments, name: &str) -> LinkConfig {
    let (rate, delay) = (arguments.rate, arguments.delay(0.3));
    let (aqm, limit) = if name == "forward" { (arguments.aqm(), arguments.limit) } else { ("droptail", 100_000) };
    let served = sojourn_aqm::Link { rate, delay, mean_packet: 1040, limit_packets: limit };
    let hints = if name == "forward" && arguments.has("router") { Hints::Router } else { Hints::Senders };
    let measure = if arguments.has("full") { Measure::All } else { Measure::Moments };
    let planned = PlannedLink {
        name: name.into(),
        rate: Some(rate),
        delay,
        measure,
        queue: Some(Arc::new(Queue { options: QueueOptions { hints, ..QueueOptions::default() }, ..Queue::default() })),
        reverse: (hints == Hints::Router).then_some(1),
        ..PlannedLink::default()
    };
    let places = [("loss", Place::BeforeQueue), ("loss-after", Place::AfterQueue)];
    let asked_for = places.into_iter().filter(|(word, _)| name == "forward" && arguments.has(word));
    let impaired: Vec<ImpairmentConfig> = asked_for.map(|(_, place)| rare_loss(place)).collect();
    let impairments = Impairments::new(&impaired, 1, name);
    LinkConfig { impairments, ..LinkConfig::new(planned, controller(aqm, &served, arguments.has("ecn") || arguments.has("l4s"), name)) }
}

/// The bottleneck and its reverse link.
fn links(arguments: &Arguments) -> Vec<LinkConfig> {
    ["forward", "back"].map(|name| link(arguments, name)).into()
}

/// Four access links for each flow.
fn access_links(arguments: &Arguments) -> Vec<AccessLink> {
    let rate = Rate::from_bps(arguments.rate.as_bps().max(10_000_000) * 10);
    let link = AccessLink { from: 0, to: 0, rate, delay: arguments.delay(0.1), limit: Amount::Packets(100_000) };
    vec![link; 4 * arguments.flows as usize]
}

fn flow(arguments: &Arguments, index: u32) -> Flow {
    let base = 2 + 4 * index;
    let direct = arguments.has("direct");
    Flow {
        name: format!("f{index}"),
        group: 0,
        forward: if direct { vec![base, 0] } else { vec![base, 0, base + 1] },
        back: if direct { vec![1, base + 3] } else { vec![base + 2, 1, base + 3] },
        paths: None,
        stack: Some(0),
        traffic: Traffic::default(),
        host: None,
        start: Time::from_secs_f64(f64::from(index) / f64::from(arguments.flows)),
        stop: Time::NEVER,
    }
}

fn stack(arguments: &Arguments) -> TcpOptions {
    let (window, initial_ssthresh) = (10_000, 10_000.0);
    let profile = match (arguments.has("tcp=linux"), arguments.has("tcp=ns2-linux")) {
        (true, _) => TcpOptions::linux(),
        (_, true) => TcpOptions::ns2_linux(),
        _ => TcpOptions { recovery: if arguments.has("sack") { Recovery::Sack } else { Recovery::NewReno }, ..TcpOptions::ns2() },
    };
    let ecn = match (arguments.has("l4s"), arguments.has("ecn")) {
        (true, _) => Ecn::L4s,
        (_, true) => Ecn::Classic,
        _ => Ecn::Off,
    };
    let stack = TcpOptions { window, initial_ssthresh, ecn, ..profile };
    let named = sojourn_cc::REGISTRY.iter().find(|entry| arguments.has(entry.name));
    let control = named.map_or(stack.control.clone(), |entry| (entry.default)());
    let accecn_option = if arguments.has("accecn") { AccEcnOption::Full } else { stack.accecn_option };
    TcpOptions { control, accecn_option, ..stack }.with_accecn_room()
}

/// The seconds that a call takes, and its result.
#[allow(clippy::disallowed_methods)]
fn timed<T>(call: impl FnOnce() -> T) -> (f64, T) {
    let begin = std::time::Instant::now();
    let given = call();
    (begin.elapsed().as_secs_f64(), given)
}

fn main() {
    let arguments = Arguments::read();
    let seconds = arguments.seconds;
    let (flows, access_links): (Vec<_>, _) =
        ((0..arguments.flows).map(|index| flow(&arguments, index)).collect(), access_links(&arguments));
    let config = WorldConfig {
        seed: 1,
        end: Time::from_secs_f64(seconds),
        warmup: Time::from_secs_f64(seconds * 0.1),
        links: links(&arguments),
        access_links: Cow::from(&access_links),
        stacks: vec![stack(&arguments)],
        flows: Cow::from(&flows),
        all_events: false,
    };
    let (setup, made) = timed(|| World::new(config));
    let mut world = made.unwrap();
    let memory = world.memory();
    let (wall, finished) = timed(|| world.finish());
    let audit = finished.unwrap();
    let b = &world.links()[0];
    let total = b.counters().arrived;
    println!(
        "{total} bottleneck packets, {:.2} M/s, {wall:.3} s, {:.2} us/flow before; util {:.4} q {:.2} sd {:.2} drops {} ; {} B/flow then {} ; fp {:x} {audit:?}",
        total as f64 / wall / 1e6,
        setup / f64::from(arguments.flows) * 1e6,
        b.utilization().unwrap_or_default(),
        b.stats().queue.packets.mean(),
        b.stats().queue.packets.sd(),
        b.stats().counters.dropped(),
        memory / arguments.flows as usize,
        world.memory() / arguments.flows as usize,
        world.fingerprint()
    );
}
