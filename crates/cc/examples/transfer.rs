//! Uses a congestion controller in a program of one's own: `transfer CC ROUNDS`.
//! It prints the window at the end of each round trip.
//!
//! The program is the host: it sends what the window allows, finds losses, and tells the controller. Here the host is as
//! simple as can be. In each round trip it sends a whole window into a path that holds 100 segments (80 in flight, 20 in the
//! queue of the bottleneck); what is beyond them is lost. A host with sequence numbers and a timer is `crates/sim/src/tcp/`.
//!
//! `CC` is a registered controller (`sojourn list cc`) or `halving`, which is defined here.
use sojourn_cc::{Ack, CongestionController, CongestionEvent, REGISTRY, Signal, Start, Window};
use sojourn_units::{Duration, Time};

/// Segments in flight that fill the path without a queue.
const PIPE: f64 = 80.0;
/// Segments that the queue of the bottleneck holds.
const QUEUE: f64 = 20.0;
/// The round-trip time without a queue.
const BASE_RTT: Duration = Duration::from_millis(80);

/// A controller that adds a segment per round trip, and halves the window at congestion.
struct Halving {
    cwnd: f64,
    ssthresh: f64,
}

impl CongestionController for Halving {
    fn on_ack(&mut self, ack: &Ack) {
        if ack.in_recovery || !ack.cwnd_limited {
            return;
        }
        self.cwnd += if self.cwnd < self.ssthresh { ack.slow_start_growth() } else { ack.avoidance_count() / self.cwnd };
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.ssthresh = (event.window / 2.0).max(2.0);
        self.cwnd = self.ssthresh;
    }

    fn on_rto(&mut self, _now: Time, window: f64) {
        self.ssthresh = (window / 2.0).max(2.0);
        self.cwnd = 1.0;
    }

    fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: self.ssthresh }
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
    }
}

/// The windows at the end of each round trip.
fn windows(controller: &mut dyn CongestionController, rounds: u32) -> Vec<f64> {
    let (mut now, mut sent) = (Time::ZERO, 0);
    let round = |_| {
        let window = controller.cwnd().floor().max(1.0);
        let queuing = BASE_RTT.as_secs_f64() * (window.min(PIPE + QUEUE) - PIPE).max(0.0) / PIPE;
        let rtt = BASE_RTT + Duration::from_secs_f64(queuing);
        now += rtt;
        let arrived = window.min(PIPE + QUEUE) as u64;
        for _ in 0..arrived {
            sent += 1;
            controller.on_ack(&Ack {
                now,
                rtt: Some(rtt),
                srtt: rtt,
                rtt_min: BASE_RTT,
                one_way_delay: Some((rtt.as_nanos() / 2) as i64),
                in_flight: window,
                snd_una: sent * 1000,
                snd_max: (sent + window as u64) * 1000,
                ..Ack::ONE
            });
        }
        // At most one report for the losses of a window.
        if window > PIPE + QUEUE {
            controller.on_congestion(&CongestionEvent { now, window, signal: Signal::Loss });
        }
        controller.cwnd()
    };
    (0..rounds).map(round).collect()
}

/// The controller of this name.
fn controller(name: &str) -> Option<Box<dyn CongestionController>> {
    let start = Start::new(10.0, 64.0);
    if name == "halving" {
        return Some(Box::new(Halving { cwnd: start.window, ssthresh: start.ssthresh }));
    }
    let entry = REGISTRY.iter().find(|entry| entry.name == name)?;
    Some(Box::new((entry.default)().build(start).ok()?))
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rounds = args.get(1).and_then(|rounds| rounds.parse().ok());
    let (Some(mut controller), Some(rounds)) = (args.first().and_then(|name| controller(name)), rounds) else {
        let names: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).collect();
        eprintln!("transfer: expected CC ROUNDS, where CC is halving or one of {}", names.join(", "));
        std::process::exit(2);
    };
    for (round, cwnd) in windows(controller.as_mut(), rounds).iter().enumerate() {
        println!("{round:4}  {cwnd:6.2}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_controller_does_what_reno_does() {
        let of = |name| windows(controller(name).unwrap().as_mut(), 200);
        assert_eq!(of("halving"), of("reno"));
    }

    #[test]
    fn every_registered_controller_uses_the_path_or_holds_the_queue_below_it() {
        for entry in REGISTRY {
            let windows = windows(controller(entry.name).unwrap().as_mut(), 500);
            let late = windows[300..].iter().sum::<f64>() / 200.0;
            assert!((2.0..=PIPE + QUEUE + 10.0).contains(&late), "{}: {late}", entry.name);
        }
    }
}
