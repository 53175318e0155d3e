//! Times a dumbbell: `dumbbell FLOWS MBIT SECONDS RTT_MS LIMIT_PACKETS [sack] [full] [ecn] [linux] [AQM] [CONTROLLER]`, AQM
//! and controller by their names in the registry; `router` lets the router find out what an AQM asks for, `linux` is the
//! profile of ns-2's TCP-Linux.
use sojourn_aqm::{AqmConfig, Limit, QueueController, REGISTRY};
use sojourn_sim::tcp::*;
use sojourn_sim::*;
use sojourn_traffic::Traffic;
use sojourn_units::*;

fn controller(name: &str, link: &sojourn_aqm::Link, limit: u32, label: &str) -> QueueController {
    let config: AqmConfig = (REGISTRY.iter().find(|e| e.name == name).unwrap().default)();
    QueueController::new(config.build(link).unwrap(), Limit::Packets(limit), std::env::args().any(|a| a == "ecn"), Stream::named(1, label))
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let num = |i: usize| args[i].parse::<f64>().unwrap();
    let (flows, mbit, secs, rtt, limit) = (num(1) as u32, num(2), num(3), num(4), num(5) as u32);
    let has = |w: &str| args.iter().any(|a| a == w);
    let aqm = args.iter().skip(1).find(|a| REGISTRY.iter().any(|entry| entry.name == *a)).map_or("droptail", String::as_str);
    let rate = Rate::from_bps((mbit * 1e6) as u64).unwrap();
    let fast = Rate::from_bps(rate.as_bps().max(10_000_000) * 10).unwrap();
    let link = |name: &str, rate: Rate, delay: f64, aqm: &str, limit: u32| LinkConfig {
        name: name.into(),
        rate: Some(rate),
        delay: Duration::from_secs_f64(delay),
        controller: controller(
            aqm,
            &sojourn_aqm::Link { rate, delay: Duration::from_secs_f64(delay), mean_packet: 1040, limit_packets: limit },
            limit,
            name,
        ),
        changes: vec![],
        delays: vec![],
        measure: match (name.len() > 3 && (name == "forward" || name == "back"), has("full")) {
            (false, _) => Measure::Counts,
            (true, false) => Measure::Moments,
            (true, true) => Measure::All,
        },
        hints: if name == "forward" && has("router") { Hints::Router { back: Some(1) } } else { Hints::Senders },
        impairments: Default::default(),
    };
    let mut links = vec![link("forward", rate, rtt * 1e-3 * 0.3, aqm, limit), link("back", rate, rtt * 1e-3 * 0.3, "droptail", 100_000)];
    let mut config_flows = vec![];
    for i in 0..flows {
        let base = links.len() as u32;
        for name in ["a", "b", "c", "d"] {
            links.push(link(&format!("{name}{i}"), fast, rtt * 1e-3 * 0.1, "droptail", 100_000));
        }
        config_flows.push(FlowConfig {
            name: format!("f{i}"),
            group: 0,
            forward: vec![base, 0, base + 1],
            back: vec![base + 2, 1, base + 3],
            stack: Some(0),
            traffic: Traffic::default(),
            start: Time::from_secs_f64(f64::from(i) / f64::from(flows)),
            stop: Time::NEVER,
        });
    }
    let stack = TcpParams {
        recovery: if has("sack") { Recovery::Sack } else { Recovery::NewReno },
        window: 10_000,
        initial_ssthresh: 10_000.0,
        ecn: has("ecn"),
        ..TcpParams::ns2()
    };
    let stack = if has("linux") { TcpParams { window: 10_000, initial_ssthresh: 10_000.0, ..TcpParams::ns2_linux() } } else { stack };
    let control = sojourn_cc::REGISTRY.iter().find(|entry| has(entry.name)).map_or(stack.control.clone(), |entry| (entry.default)());
    let stack = TcpParams { control, ..stack };
    let config = WorldConfig {
        seed: 1,
        end: Time::from_secs_f64(secs),
        warmup: Time::from_secs_f64(secs * 0.1),
        links,
        stacks: vec![stack],
        flows: config_flows,
        all_events: false,
    };
    let mut world = World::new(config).unwrap();
    let memory = world.memory();
    #[allow(clippy::disallowed_methods)]
    let begin = std::time::Instant::now();
    let audit = world.finish().unwrap();
    let wall = begin.elapsed().as_secs_f64();
    let b = &world.links()[0];
    let total = b.counters().arrived;
    println!(
        "{total} bottleneck packets, {:.2} M/s, {wall:.3} s; util {:.4} q {:.2} sd {:.2} drops {} ; {} B/flow then {} ; fp {:x} {audit:?}",
        total as f64 / wall / 1e6,
        b.stats().busy.as_secs_f64() / (secs * 0.9),
        b.stats().queue.packets.mean(),
        b.stats().queue.packets.sd(),
        b.stats().counters.dropped(),
        memory / flows as usize,
        world.memory() / flows as usize,
        world.fingerprint()
    );
}
