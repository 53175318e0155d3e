//! A queue without a network, to count the instructions of an algorithm: `qdisc AQM PACKETS`.
//!
//! A packet arrives in every packet time of a link of 10 Mbit/s, and one leaves if more than 20 wait, so every algorithm
//! decides about the same arrivals. The parameters are chosen so that about one packet in a hundred is dropped, or none.
use sojourn_aqm::algorithms::{led, pi, rem};
use sojourn_aqm::{Amount, AqmConfig, Link, Packet, Qdisc, QueueController, REGISTRY};
use sojourn_units::{Duration, Rate, Stream, Time};

#[derive(Clone, Debug)]
struct Plain;

impl Packet for Plain {
    fn size(&self) -> u32 {
        1040
    }
    fn flow(&self) -> u32 {
        0
    }
    fn can_mark(&self) -> bool {
        false
    }
    fn mark(&mut self) {}
}

fn config(name: &str) -> AqmConfig {
    match name {
        "pi" => AqmConfig::Pi(pi::Params { target: 20.0, ..pi::Params::default() }),
        "rem" => AqmConfig::Rem(rem::Params { target: 20.0, ..rem::Params::default() }),
        "led" => AqmConfig::Led(led::Params { max: 20.0, ..led::Params::default() }),
        other => (REGISTRY.iter().find(|entry| entry.name == other).unwrap().default)(),
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let packets: u64 = args[2].parse().unwrap();
    let rate = Rate::from_bps(10_000_000).unwrap();
    let link = Link { rate, delay: Duration::from_millis(20), mean_packet: 1040, limit_packets: 100 };
    let aqm = config(&args[1]).build(&link).unwrap();
    let mut queue = Qdisc::new(QueueController::new(aqm, Amount::Packets(100), false, Stream::named(1, "qdisc")));
    for n in 0..packets {
        let now = Time::from_nanos(n * 832_000);
        if queue.next_update() <= now {
            queue.update(now, None);
        }
        queue.enqueue(now, Plain, None, |_, _| ());
        if queue.packets() > 20 {
            queue.dequeue(now, |_, _| ());
        }
    }
    println!("{} packets, {} dropped", queue.counters().arrived, queue.counters().dropped());
}
