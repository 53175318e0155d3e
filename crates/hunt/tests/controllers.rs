//! Every registered controller does the same on a path as stored in `controllers.txt`.
//! So does CUBIC with every start-up. A controller runs with defaults and with random parameters. The path is a model of a few lines, so a run takes microseconds, and each controller
//! meets many. Store a line again only together with an intended change; any other difference is a defect.
//!
//! `cargo test --package sojourn-hunt --test controllers -- --ignored` stores the results of this build.

use serde_json::json;
use sojourn_cc::{
    Ack, AnyController, Arithmetic, CcConfig, CongestionController, CongestionEvent, Entry, Event, Feedback, LossState, LostSegment,
    REGISTRY, RateSample, START_UPS, Signal, Start, StartUpConfig, StartUpEntry, Window,
};
use sojourn_hunt::{control, start_up};
use sojourn_units::{Duration, Stream, Time};
use std::collections::BTreeMap;
use std::fs;

const STORED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/controllers.txt");

/// The number of parameter sets of a controller. The first has the defaults.
const DRAWS: u64 = 60;

/// The number of ACKs in a run.
const ACKS: u32 = 2000;

/// The size of a segment in bytes.
const SEGMENT: u64 = 1000;

/// A hash of numbers (FNV-1a, 64 bits at a time).
struct Hash(u64);

impl Hash {
    fn add(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    }
}

/// A connection over a bottleneck.
/// Its queue follows from the window, and the controller's feedback from both.
struct Path {
    random: Stream,
    now: u64,
    /// The link's rate in segments per second.
    rate: f64,
    /// The buffer in segments.
    buffer: f64,
    /// The backlog of other flows in segments.
    others: f64,
    base: Duration,
    srtt: Duration,
    rtt_min: Duration,
    delivered: f64,
    lost: f64,
    /// The number of delivered segments at which loss recovery ends.
    repaired: f64,
    state: LossState,
    before: Window,
    app_limited: bool,
    /// Whether more than one loss can be detected in a round trip.
    selective: bool,
}

impl Path {
    fn new(number: u64, name: &str) -> Path {
        let mut random = Stream::named(number, name);
        let rate = [100.0, 1000.0, 5000.0][random.below(3) as usize];
        let base = Duration::from_millis([1, 10, 40, 200][random.below(4) as usize]);
        let buffer = (rate * base.as_secs_f64()).max(4.0) * [0.5, 1.0, 3.0][random.below(3) as usize];
        Path {
            random,
            now: 1_000_000_000,
            rate,
            buffer,
            others: 0.0,
            base,
            srtt: Duration::ZERO,
            rtt_min: Duration::ZERO,
            delivered: 0.0,
            lost: 0.0,
            repaired: 0.0,
            state: LossState::Open,
            before: Window { cwnd: 10.0, ssthresh: 1e9 },
            app_limited: false,
            selective: number % 7 != 6,
        }
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.now)
    }

    /// Changes the path for the next phase.
    fn change(&mut self) {
        match self.random.below(6) {
            0 => self.rate = (self.rate / 4.0).max(20.0),
            1 => self.rate *= 2.0,
            2 => self.others = self.buffer * 0.7,
            3 => self.base = self.base + Duration::from_millis(5),
            4 => self.app_limited = !self.app_limited,
            _ => (self.others, self.app_limited) = (0.0, false),
        }
    }

    /// Delivers one ACK and the sender's other feedback to the controller.
    fn step(&mut self, cc: &mut AnyController) {
        let window = cc.cwnd();
        let used = if self.app_limited { (window / 2.0).max(1.0) } else { cc.limit_of_flight(window, self.now()).clamp(1.0, 1e5) };
        let bdp = self.rate * self.base.as_secs_f64();
        let waiting = (used - bdp).max(0.0) + self.others;
        let jitter = Duration::from_nanos(500_000 * self.random.below(3));
        let rtt = self.base + Duration::from_secs_f64(waiting.min(self.buffer) / self.rate) + jitter;
        let acked = [1.0, 1.0, 2.0, 2.0, 7.0][self.random.below(5) as usize];
        self.now += (1e9 * acked / self.rate.min(used / rtt.as_secs_f64())) as u64;
        self.delivered += acked;
        if self.state != LossState::Open && self.delivered >= self.repaired {
            self.state = LossState::Open;
            cc.on_event(&Event::ReductionEnd);
        }
        let marked = if waiting > self.buffer / 3.0 && self.random.unit() < 0.3 { acked } else { 0.0 };
        let lost = if waiting > self.buffer && self.state == LossState::Open { 1.0 + self.random.below(3) as f64 } else { 0.0 };
        let sample = self.sample(acked, lost, marked, used, rtt);
        self.lose(cc, lost, used);
        self.events(cc, used);
        let one_way_delay = (acked < 7.0).then(|| rtt.as_nanos() as i64 - 3_000_000 + self.now as i64 / 20_000);
        let ack = Ack {
            now: self.now(),
            acked,
            // In recovery some ACKs bring SACK blocks only.
            advanced: if self.state == LossState::Recovery && self.random.below(3) > 0 { 0.0 } else { acked + lost },
            rtt: sample.rtt,
            srtt: self.srtt,
            rtt_min: self.rtt_min,
            one_way_delay,
            in_flight: used,
            cwnd_limited: sample.is_cwnd_limited,
            in_recovery: self.state == LossState::Recovery,
            after_timeout: self.state == LossState::Timeout,
            open: self.state == LossState::Open && marked == 0.0,
            abc_limit: [0.0, 1.0, 2.0][self.random.below(3) as usize],
            snd_una: SEGMENT * self.delivered as u64,
            snd_max: SEGMENT * (self.delivered + used) as u64,
            marked,
        };
        cc.on_sample(&sample);
        if marked > 0.0 && self.random.below(4) == 0 {
            cc.on_congestion(&CongestionEvent { now: self.now(), window: used, signal: Signal::Mark });
        }
        cc.on_ack(&ack);
    }

    fn sample(&mut self, acked: f64, lost: f64, marked: f64, used: f64, rtt: Duration) -> RateSample {
        self.rtt_min = if self.rtt_min == Duration::ZERO { rtt } else { self.rtt_min.min(rtt) };
        let srtt = self.srtt;
        self.srtt = if srtt == Duration::ZERO { rtt } else { Duration::from_nanos((7 * srtt.as_nanos() + rtt.as_nanos()) / 8) };
        let prior = (self.delivered - used).max(0.0);
        RateSample {
            now: self.now(),
            delivered_total: self.delivered,
            lost_total: self.lost + lost,
            newly_acked: acked,
            newly_lost: lost,
            prior_delivered: (self.random.below(50) > 0).then_some(prior),
            delivered: self.delivered - prior,
            lost,
            tx_in_flight: used,
            delivery_rate: (self.delivered - prior) / rtt.as_secs_f64(),
            is_app_limited: self.app_limited,
            rtt: (self.random.below(20) > 0).then_some(rtt),
            srtt,
            prior_in_flight: used,
            in_flight: (used - acked).max(0.0),
            may_be_delayed: used <= 1.0,
            pacing_delay: Duration::from_nanos(1000 * self.random.below(2000)),
            is_cwnd_limited: !self.app_limited,
            state: self.state,
            selective_acks: self.selective,
            marked,
        }
    }

    /// Reports lost segments, and a congestion event once per window.
    fn lose(&mut self, cc: &mut AnyController, lost: f64, used: f64) {
        for segment in 0..lost as u32 {
            self.lost += 1.0;
            cc.on_lost(&LostSegment {
                now: self.now(),
                size: 1.0,
                tx_in_flight: used,
                lost: f64::from(segment + 1),
                is_app_limited: self.app_limited,
                delivered_total: self.delivered,
                contiguous: segment > 0,
                selective_acks: self.selective,
            });
        }
        if lost > 0.0 {
            self.before = Window { cwnd: cc.cwnd(), ssthresh: cc.ssthresh() };
            (self.repaired, self.state) = (self.delivered + used, LossState::Recovery);
            cc.on_congestion(&CongestionEvent { now: self.now(), window: used, signal: Signal::Loss });
        }
    }

    /// Reports occasional events: timeouts, pauses, spurious losses.
    fn events(&mut self, cc: &mut AnyController, used: f64) {
        let now = self.now();
        match self.random.below(400) {
            0 => {
                self.before = Window { cwnd: cc.cwnd(), ssthresh: cc.ssthresh() };
                (self.repaired, self.state) = (self.delivered + used, LossState::Timeout);
                cc.on_rto(now, used);
                cc.on_event(&Event::RtoRestart { in_flight: 0.0 });
            }
            1 if self.state == LossState::Timeout => cc.on_event(&Event::RepeatedRto { now }),
            2 | 3 => {
                let idle = Duration::from_millis([10, 300, 3000, 20_000][self.random.below(4) as usize]);
                self.now += idle.as_nanos();
                let now = self.now();
                cc.on_event(&Event::IdleEnd { now, idle, srtt: self.srtt });
                cc.on_event(&Event::FlightStart { now, srtt: self.srtt, app_limited: true });
                if idle > self.srtt {
                    cc.on_event(&Event::IdleRestart(Window { cwnd: cc.cwnd().min(10.0), ssthresh: cc.ssthresh() }));
                }
            }
            4 | 5 if self.state == LossState::Recovery => {
                self.state = LossState::Open;
                cc.on_event(&Event::SpuriousRecovery);
                cc.on_event(&Event::Undo(self.before));
            }
            6 if self.state == LossState::Recovery => cc.on_event(&Event::LossInReduction { in_use: used }),
            7 | 8 => self.change(),
            _ => {}
        }
    }
}

/// The parameters with this number of a controller, and its start-up if it is not its own.
type Drawn = Result<(CcConfig, Option<StartUpConfig>), String>;

fn of_controller(entry: &Entry, number: u64) -> Drawn {
    let mut table = control(entry.name, number).expect("it is drawn");
    table.remove("cc");
    let config = CcConfig::deserialize(entry.name, toml::Value::Table(table)).expect("it is registered");
    Ok((config.map_err(|error| error.to_string())?, None))
}

fn of_start_up(entry: &StartUpEntry, number: u64) -> Drawn {
    let mut table = start_up(entry.name, number);
    table.remove("name");
    let config = StartUpConfig::deserialize(entry.name, toml::Value::Table(table)).expect("it is registered");
    let config = config.map_err(|error| error.to_string())?;
    config.check().map_err(|error| error.to_string())?;
    Ok((CcConfig::Cubic(Default::default()), Some(config)))
}

/// The hash of all actions and variables of a controller on a path.
/// The name and the number select the path.
/// If its parameters are inconsistent, it is the hash of the error.
fn outcome(name: &str, number: u64, drawn: Drawn) -> u64 {
    let mut hash = Hash(number);
    let arithmetic = [Arithmetic::Fractions, Arithmetic::Linux, Arithmetic::Fractions, Arithmetic::Whole][number as usize % 4];
    let ecn = [Feedback::Counts, Feedback::Counts, Feedback::CountsIfAsked, Feedback::Counts, Feedback::Echoes][number as usize % 5];
    let start = Start { pacing: number.is_multiple_of(3), arithmetic, ecn, ..Start::new(10.0, 1e9) };
    let build = |(config, start_up): (CcConfig, Option<StartUpConfig>)| config.build(Start { start_up, ..start });
    let mut cc = match drawn.and_then(|drawn| build(drawn).map_err(|error| error.to_string())) {
        Ok(cc) => cc,
        Err(error) => {
            error.bytes().for_each(|byte| hash.add(byte.into()));
            return hash.0;
        }
    };
    if cc.needs().random {
        cc.on_event(&Event::Random(Stream::named(number, "controller")));
    }
    let mut path = Path::new(number, name);
    for _ in 0..ACKS {
        path.step(&mut cc);
        let pace = cc.pacing().or_else(|| cc.start_up_pacing()).map_or([0.0; 2], |pace| [pace.rate, pace.quantum()]);
        for value in [cc.cwnd(), cc.ssthresh(), pace[0], pace[1]] {
            hash.add(value.to_bits());
        }
        for value in cc.values().into_iter().filter(|value| !value.is_nan()) {
            hash.add(value.to_bits());
        }
    }
    hash.0
}

/// The hash of the accepted values of each parameter, and of the errors for others.
fn bounds(entry: &Entry) -> u64 {
    let default = serde_json::to_value((entry.default)()).expect("a config can be written");
    let fields = default.as_object().expect("a config is a table").keys().filter(|&key| key != "cc");
    let numbers = [-1.0, 0.0, 1e-9, 0.3, 0.5, 0.9, 1.0, 1.5, 2.0, 3.0, 10.0, 11.0, 64.0, 100.0, 1000.0, 1e6, 1e9, 1e10].map(|x| json!(x));
    let whole = [-1i64, 0, 1, 2, 3, 4, 8, 16, 17, 100, 255, 256, 65_536, 1 << 32].map(|x| json!(x));
    let times = ["0 s", "1 ns", "1 us", "1 ms", "100 ms", "1 s", "60 s", "1000 s", "1000000 s"].map(|x| json!(x));
    let mut hash = Hash(0);
    for field in fields {
        for value in numbers.iter().chain(&whole).chain(&times) {
            let mut table = default.clone();
            table[field] = value.clone();
            table.as_object_mut().expect("a config is a table").remove("cc");
            let config = CcConfig::deserialize(entry.name, table).expect("it is registered").map_err(|error| error.to_string());
            let built = config.and_then(|config| config.build(Start::new(10.0, 1e9)).map_err(|error| error.to_string()));
            built.err().unwrap_or_default().bytes().chain([0]).for_each(|byte| hash.add(byte.into()));
        }
    }
    hash.0
}

/// The controllers that run without a Linux host.
fn entries() -> impl Iterator<Item = &'static Entry> {
    REGISTRY.iter().filter(|entry| control(entry.name, 0).is_some())
}

/// A line for a controller: 32 bits of its bounds and of each outcome.
fn record(entry: &Entry) -> String {
    let outcomes = (0..DRAWS).map(|number| outcome(entry.name, number, of_controller(entry, number)));
    line(std::iter::once(bounds(entry)).chain(outcomes))
}

/// A line for a start-up in CUBIC: 32 bits of each outcome.
fn start_up_record(entry: &StartUpEntry) -> String {
    line((0..DRAWS).map(|number| outcome(entry.name, number, of_start_up(entry, number))))
}

fn line(hashes: impl Iterator<Item = u64>) -> String {
    hashes.map(|hash| format!(" {:08x}", hash >> 32)).collect()
}

/// All lines by name.
fn lines() -> impl Iterator<Item = (String, String)> {
    let of_start_ups = START_UPS.iter().map(|entry| (format!("start-up {}", entry.name), start_up_record(entry)));
    entries().map(|entry| (entry.name.to_string(), record(entry))).chain(of_start_ups)
}

#[test]
fn every_controller_does_as_stored() {
    let stored = fs::read_to_string(STORED).unwrap();
    let stored: BTreeMap<&str, &str> = stored.lines().filter_map(|line| line.split_once(':')).collect();
    let other: Vec<String> = lines().filter(|(name, line)| stored.get(&name[..]) != Some(&&line[..])).map(|(name, _)| name).collect();
    assert!(other.is_empty(), "{other:?} do otherwise than stored in {STORED}; `-- --ignored` stores what is new or intended");
}

#[test]
#[ignore = "stores what the controllers of this build do"]
fn store() {
    let lines: Vec<String> = lines().map(|(name, line)| format!("{name}:{line}\n")).collect();
    fs::write(STORED, lines.concat()).unwrap();
}
