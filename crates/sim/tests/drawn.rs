//! Drawn worlds for `records.rs`: TCP stacks, links, impairments and flows.
//! Each option draws from a stream of its own name, so a new option changes no other.

use sojourn_aqm::{AckFilter, Amount, Aqm, QueueController};
use sojourn_link::kinds::{
    ack_thinning, bursts, corruption, duplication, gilbert_elliott, jitter, loss, loss_list, outage, policer, reorder, shaper, tcp_option,
};
use sojourn_link::trace::{Builder, Row, Service};
use sojourn_link::{ImpairmentConfig, Per, Place, Spell, TcpOption};
use sojourn_sim::tcp::{AccEcnOption, Ecn, Handshake, RttHint, TcpOptions, WindowBasis};
use sojourn_sim::{LinkConfig, WorldConfig};
use sojourn_spec::flow::Flow;
use sojourn_spec::link::{AccessLink, DelayChange, Link, Measure, RateChange, Trace};
use sojourn_spec::medium::{Medium, Turns};
use sojourn_spec::paths::Paths;
use sojourn_spec::queue::{Hints, Queue};
use sojourn_traffic::kinds::{bulk, cbr, onoff, ping, poisson, schedule, transfers, web};
use sojourn_traffic::{Traffic, Transport};
use sojourn_units::{Bytes, Cells, Duration, Overhead, Rate, Stream, Time};
use std::sync::Arc;

/// Links in each direction.
const HALVES: [u32; 5] = [1, 1, 2, 2, 3];

/// The choices of one world.
pub struct Draw(u64);

impl Draw {
    pub fn new(number: u64) -> Draw {
        Draw(number)
    }

    fn of(&self, name: &str) -> Stream {
        Stream::named(self.0, name)
    }

    fn pick<T: Clone>(&self, name: &str, values: &[T]) -> T {
        values[self.of(name).below(values.len() as u64) as usize].clone()
    }

    /// One of the entries: the one whose own draw is the largest.
    /// A new entry changes only the worlds that choose it.
    fn pick_named<T: Copy>(&self, name: &str, entries: impl Iterator<Item = (&'static str, T)>) -> T {
        let own = |entry: &str| self.of(&format!("{name} {entry}")).below(u64::MAX);
        entries.max_by_key(|(entry, _)| own(entry)).expect("a registry has entries").1
    }

    /// Whether full segments take whole milliseconds on links, so that events coincide.
    fn on_grid(&self) -> bool {
        self.0 % 4 == 1
    }

    /// Whether the second link is very fast.
    /// Packets then arrive there and leave at the same nanosecond.
    fn has_fast_link(&self) -> bool {
        self.pick("hops", &HALVES) == 2 && self.chance("fast", 0.6)
    }

    fn chance(&self, name: &str, probability: f64) -> bool {
        self.of(name).unit() < probability
    }
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn at_ms(at: u64) -> Time {
    Time::ZERO + ms(at)
}

fn rate(bps: u64) -> Rate {
    Rate::from_bps(bps).expect("above zero")
}

/// Each option with its values; most stacks keep the value of the profile.
macro_rules! drawn {
    ($options:ident, $draw:ident, $name:ident, $chance:expr; $($option:ident: [$($value:expr),*];)*) => {
        $(if $draw.chance(&format!("{} {}?", $name, stringify!($option)), $chance) {
            $options.$option = $draw.pick(&format!("{} {}", $name, stringify!($option)), &[$($value),*]);
        })*
    };
}

/// Turns some switches of a stack on or off.
fn turn_switches(options: &mut TcpOptions, draw: &Draw, name: &str, chance: f64) {
    drawn! { options, draw, name, chance;
        proportional_reduction: [true, false];
        tail_loss_probe: [true, false];
        f_rto: [true, false];
        undo: [true, false];
        dsack: [true, false];
        paws: [true, false];
        tick_arithmetic: [true, false];
        timer_wheel: [true, false];
        timestamps: [true, false];
        limited_transmit: [true, false];
        adaptive_delayed_ack: [true, false];
        generalized_ecn: [true, false];
        ecn_on_retransmit: [true, false];
        deflate_on_exit: [true, false];
        ecn_backoff: [true, false];
        avoid_multiple_fast_retransmits: [true, false];
        hold_ssthresh_on_repeated_rto: [true, false];
        loss_cwnd_floor: [true, false];
        ecn_cwnd_floor: [true, false];
        ignore_ece_after_timeout: [true, false];
        update_recover_after_ecn: [true, false];
        limited_transmit_new_data_only: [true, false];
        rto_3s_after_lost_syn: [true, false];
        immediate_ack_of_duplicates: [true, false];
        linux_variation: [true, false];
        windowed_variation: [true, false];
        whole_windows: [true, false];
        growth_needs_limit: [true, false];
        rate_limited_increase: [true, false];
        linux_growth: [true, false];
        inflight_limit: [true, false];
        pacing: [true, false];
        linux_pacing: [true, false];
        restart_after_idle: [true, false];
    }
}

/// A stack: a profile with some changed options, or unchanged if they are incompatible.
pub fn stack(profile: &TcpOptions, draw: &Draw, name: &str, chance: f64) -> TcpOptions {
    let mut options = profile.clone();
    turn_switches(&mut options, draw, name, chance);
    drawn! { options, draw, name, chance;
        mss: [536, 1000, 1448, 97];
        header: [40, 52, 60];
        sack_option: [0, 4, 12];
        window: [2, 5, 12, 40, 300];
        reader: [None, Some(rate(300_000)), Some(rate(1_500_000)), Some(rate(40_000))];
        handshake: [Handshake::None, Handshake::OneWay, Handshake::ThreeWay];
        syn_linear_timeouts: [0, 1, 3];
        syn_losses_allowed: [0, 1, 2];
        initial_window: [1.0, 2.0, 3.0, 4.0, 10.0, 32.0];
        initial_ssthresh: [2.0, 6.0, 20.0, f64::INFINITY];
        initial_rto: [ms(200), ms(1000), ms(3000)];
        min_rto: [ms(5), ms(200), ms(1000)];
        max_rto: [ms(1500), ms(60_000), ms(120_000)];
        rto_slop: [ms(0), ms(30)];
        tick: [ms(0), ms(1), ms(4), ms(10), ms(100)];
        dupack_threshold: [1, 2, 3, 5];
        delayed_ack: [None, Some(ms(40)), Some(ms(100)), Some(ms(200))];
        ack_every: [1, 2, 3, 8];
        quick_acks: [0, 2, 16];
        quick_start: [0, 3, 16];
        notsent_lowat: [0, 3000];
        sack_compression: [ms(0), ms(1), ms(8)];
        ecn_syns: [0, 1, 2];
        accecn_option: [AccEcnOption::Off, AccEcnOption::Recommended, AccEcnOption::Minimum, AccEcnOption::Full];
        basis: [WindowBasis::Cwnd, WindowBasis::FlightSize];
        recovery_burst: [0, 1, 2, 4];
        abc: [0, 1, 2];
        rtt_hint: [RttHint::Off, RttHint::Smoothed, RttHint::Claimed(70)];
        clock_offset: [0, 5_000_000_000, -700_000_000];
        clock_skew_ppm: [0.0, 200.0, -900.0];
    }
    if draw.chance(&format!("{name} ecn?"), 0.6) {
        let modes = [Ecn::Off, Ecn::Classic, Ecn::Classic, Ecn::Dctcp, Ecn::Accurate, Ecn::Accurate, Ecn::L4s];
        options.ecn = draw.pick(&format!("{name} ecn"), &modes);
        options.peer_ecn = draw.pick(&format!("{name} peer_ecn"), &[None, None, None, Some(Ecn::Classic), Some(Ecn::Off)]);
    }
    if draw.on_grid() {
        (options.mss, options.header) = (960, 40);
    }
    options.tick_arithmetic &= options.tick > Duration::ZERO;
    options.initial_rto = options.initial_rto.min(options.max_rto);
    options.min_rto = options.min_rto.min(options.max_rto);
    let reno = options.clone();
    if draw.chance(&format!("{name} control?"), 0.4) {
        let entries = sojourn_cc::REGISTRY.iter().map(|entry| (entry.name, entry.default));
        options.control = draw.pick_named(&format!("{name} control"), entries)();
    }
    let fitting = [&options, &reno, profile].into_iter().find(|options| options.check().is_ok());
    fitting.expect("a profile's options go together").with_accecn_room()
}

/// Impairments that are frequent enough to matter in a short run.
fn impairments() -> Vec<ImpairmentConfig> {
    let up_to = |high| jitter::Params { delay: jitter::Distribution::Uniform([Duration::ZERO, high]) };
    let gilbert = gilbert_elliott::Params { good: Spell::Packets(30.0), bad: Spell::Time(ms(40)), loss_good: 0.005, loss_bad: 0.5 };
    vec![
        loss::Params::of(0.03).into(),
        loss::Params::of(0.12).into(),
        reorder::Params { by: ms(15), probability: 0.05, gap: 1 }.into(),
        reorder::Params { by: ms(90), probability: 1.0, gap: 23 }.into(),
        duplication::Params { probability: 0.05 }.into(),
        up_to(ms(12)).into(),
        outage::Params { at: ms(900), length: ms(700), every: None, hold: false }.into(),
        outage::Params { at: ms(400), length: ms(150), every: Some(ms(1700)), hold: true }.into(),
        ack_thinning::Params { every: Some(3), interval: None }.into(),
        ack_thinning::Params { every: None, interval: Some(ms(20)) }.into(),
        bursts::Params { every: ms(8) }.into(),
        gilbert.into(),
        policer::Params { rate: rate(700_000), burst: Bytes(9_000) }.into(),
        shaper::Params { rate: rate(600_000), burst: Bytes(4_000), latency: ms(60) }.into(),
        corruption::Params { probability: 1e-5, per: Per::Bit }.into(),
        loss_list::Params { packets: vec![1, 2, 9, 10, 11, 12, 30, 31, 60, 61], data_only: true }.into(),
        loss_list::Params { packets: vec![2, 5, 6, 20, 40, 41, 42], data_only: false }.into(),
        tcp_option::Params { option: TcpOption::Sack, action: tcp_option::Action::Strip }.into(),
        tcp_option::Params { option: TcpOption::AccEcn, action: tcp_option::Action::Strip }.into(),
        tcp_option::Params { option: TcpOption::AccEcn, action: tcp_option::Action::Drop }.into(),
    ]
}

/// The impairments of a link, some for a part of the run.
fn impaired(draw: &Draw, name: &str) -> Vec<ImpairmentConfig> {
    let count = draw.pick(&format!("{name} impairments"), &[0u32, 0, 1, 1, 2]);
    let one = |number: u32| {
        let name = format!("{name} impairment {number}");
        let mut config = draw.pick(&name, &impairments());
        config.place = draw.pick(&format!("{name} place"), &[Place::BeforeQueue, Place::AfterQueue]);
        if draw.chance(&format!("{name} until"), 0.2) {
            (config.from, config.until) = (ms(500), Some(ms(2500)));
        }
        config
    };
    (0..count).map(one).collect()
}

/// A trace of a few rows: rates, or opportunities to send.
fn trace(draw: &Draw, name: &str) -> Trace {
    let service = draw.pick(&format!("{name} service"), &[Service::Rates, Service::Opportunities]);
    let mut random = draw.of(&format!("{name} rows"));
    let mut builder = Builder::new(service);
    for row in 0..12 {
        let (rates, opportunities) = ([0, 400_000, 1_000_000, 2_500_000], [1500, 3000, 700, 0]);
        let choice = if row == 0 { 2 } else { random.below(4) as usize };
        let (span, service) = match service {
            Service::Rates => (ms(30 + random.below(120)), rates[choice]),
            Service::Opportunities => (ms(random.below(12)), opportunities[choice]),
        };
        let (delay, loss) = (ms(random.below(3) * 4), [0, 0, 0, 30_000_000][random.below(4) as usize]);
        builder.push(Row { span, service: service.max(u64::from(row == 0)), delay, loss });
    }
    builder.push(Row { span: ms(10), service: 1_000_000, ..Row::default() });
    Trace { sha256: "".into(), rows: Arc::new(builder.finish().expect("it has a capacity")) }
}

/// A link of the core: its discipline with its defaults, and its changes during the run.
fn link(name: &str, reverse: u32, draw: &Draw) -> LinkConfig {
    let name = name.to_string();
    let pick = |what: &str| format!("{name} {what}");
    let bps = draw.pick(&pick("rate"), &[300_000, 1_000_000, 1_000_000, 2_000_000, 8_000_000]);
    let is_fast = name == "link1" && draw.has_fast_link();
    let bps = if is_fast { 20_000_000_000_000 } else { bps };
    let delay = draw.pick(&pick("delay"), &[Duration::ZERO, Duration::from_micros(300), ms(4), ms(20), ms(70)]);
    let limit = draw.pick(&pick("limit"), &[Amount::Packets(4), Amount::Packets(15), Amount::Bytes(20_000), Amount::Packets(100)]);
    let mut plan = Link { name: name.clone(), delay, reverse: Some(reverse), impairments: impaired(draw, &name), ..Link::default() };
    if !is_fast && draw.chance(&pick("is a pure delay"), if draw.has_fast_link() { 0.0 } else { 0.1 }) {
        return LinkConfig::planned(plan, Vec::new(), draw.0);
    }
    plan.rate = Some(rate(bps));
    plan.measure = draw.pick(&pick("measure"), &[Measure::All, Measure::All, Measure::Moments]);
    match draw.pick(&pick("changes"), &[0, 0, 0, 0, 1, 2, 3, 4]) {
        1 => plan.rate_changes = [(700, bps / 3), (1500, bps * 2)].map(|(at, bps)| RateChange { at: at_ms(at), rate: rate(bps) }).into(),
        2 => plan.delay_changes = [(600, 50), (1200, 1)].map(|(at, delay)| DelayChange { at: at_ms(at), delay: ms(delay) }).into(),
        3 => plan.trace = Some(trace(draw, &name)),
        4 => {
            plan.overhead =
                Some(Overhead { per_packet: Bytes(22), mpu: Bytes(84), cells: draw.pick(&pick("cells"), &[Cells::None, Cells::Atm]) })
        }
        _ => {}
    }
    if draw.chance(&pick("medium"), 0.15) {
        let turns = draw.pick("turns", &[Turns::RoundRobin, Turns::Random]);
        let (frames, longest) = draw.pick("frames", &[(1, None), (4, Some(ms(6))), (32, None)]);
        plan.medium = Some(Arc::new(Medium { name: "air".into(), turns, overhead: Duration::from_micros(250), frames, longest }));
    }
    let (at, drop_tail) =
        (sojourn_aqm::Link { rate: rate(bps), delay, mean_packet: 1040, limit_packets: 30 }, sojourn_aqm::REGISTRY[0].default);
    let disciplines = sojourn_aqm::REGISTRY.iter().map(|entry| (entry.name, entry.default));
    let of_registry = draw.pick_named(&pick("aqm"), disciplines);
    let aqm = if draw.chance(&pick("plain queue"), 0.3) { drop_tail } else { of_registry };
    let aqm = aqm().build(&at).unwrap_or_else(|_| drop_tail().build(&at).expect("a plain queue"));
    let mut queue = Queue::droptail(limit);
    queue.options.hints =
        if aqm.needs() == Default::default() { Hints::Senders } else { draw.pick(&pick("hints"), &[Hints::Senders, Hints::Router]) };
    plan.queue = Some(Arc::new(queue));
    let ecn = draw.chance(&pick("ecn"), 0.7);
    let mut config = LinkConfig::planned(plan, Vec::new(), draw.0);
    config.controller = QueueController::new(aqm, limit, ecn, draw.of(&pick("queue")));
    config.controller.ack_filter =
        draw.pick(&pick("ack filter"), &[AckFilter::None, AckFilter::None, AckFilter::Filter, AckFilter::Aggressive]);
    config
}

/// The traffic of a flow.
fn traffic(draw: &Draw, name: &str) -> Traffic {
    let bps = draw.pick(&format!("{name} pace"), &[150_000, 600_000, 3_000_000]);
    let rate = rate(bps);
    let finite = || bulk::Params { size: Some(Bytes(draw.pick(&format!("{name} bytes"), &[1, 900, 25_000, 70_000, 200_001]))) };
    let part = |at, rate, silent| schedule::Part { at: ms(at), rate, silent };
    let rates =
        vec![part(0, None, false), part(600, None, true), part(1900, Some(rate), false), part(2500, None, true), part(4200, None, false)];
    let transport = draw.pick(&format!("{name} transport"), &[Transport::Tcp, Transport::Udp]);
    match draw.of(&format!("{name} kind")).below(14) {
        0..3 => finite().into(),
        3..5 => schedule::Params { rates, size: Bytes(1000), transport: Transport::Tcp }.into(),
        5 => onoff::Params { rate, size: Bytes(800), on: ms(200), off: ms(700), shape: Some(1.5), transport }.into(),
        6 => cbr::Params { rate, size: Bytes(if draw.on_grid() { 1000 } else { 700 }), jitter: if draw.on_grid() { 0.0 } else { 0.3 } }
            .into(),
        7 => poisson::Params { rate, size: Bytes(400), sizes: poisson::Sizes::Exponential }.into(),
        8 => ping::Params { every: ms(90), size: Bytes(64) }.into(),
        9 => transfers::Params { every: ms(350), size_mean: Some(Bytes(9_000)), size_shape: Some(1.5), sizes: None }.into(),
        10 => {
            let [open, closed] = [web::Loop::Open, web::Loop::Closed];
            let (request, r#loop) =
                (Bytes(draw.pick(&format!("{name} request"), &[0, 300, 4000])), draw.pick(&format!("{name} loop"), &[open, closed]));
            web::Params {
                page_gap: ms(400),
                objects: 3,
                object_gap: ms(60),
                object_mean: web::ObjectMean::Segments(6.0),
                object_shape: 1.4,
                pages: None,
                r#loop,
                request,
            }
            .into()
        }
        _ => Traffic::default(),
    }
}

/// A flow over the links of the core, `half` in each direction, and over links of its own.
fn flow(number: u32, half: u32, draw: &Draw, own: &mut Vec<AccessLink>) -> Flow {
    let name = format!("flow{number}");
    let pick = |what: &str| format!("{name} {what}");
    let first = if draw.has_fast_link() { 0 } else { draw.of(&pick("first")).below(half.into()) as u32 };
    let there: Vec<u32> = (first..half).take(draw.pick(&pick("hops"), &[1, 2, 3])).collect();
    let (mut forward, mut back): (Vec<u32>, Vec<u32>) = (there.clone(), there.iter().rev().map(|link| link + half).collect());
    if draw.chance(&pick("goes back"), 0.2) {
        std::mem::swap(&mut forward, &mut back);
    }
    let mut paths = None;
    if draw.chance(&pick("paths"), 0.15) {
        let other = |path: &[u32]| [path.to_vec(), path[..1].to_vec()].to_vec();
        let times = draw.pick(&pick("times"), &[vec![], vec![at_ms(1300)]]);
        paths = Some(Arc::new(Paths { forward: other(&forward), back: other(&back), times, drawn: false }));
    } else if draw.chance(&pick("access"), 0.6) {
        let rate = draw.pick(&pick("access rate"), &[None, Some(rate(500_000)), Some(rate(3_000_000))]);
        let limit = draw.pick(&pick("access limit"), &[Amount::Packets(5), Amount::Packets(60), Amount::Bytes(6_000)]);
        let link = AccessLink { from: 0, to: 0, rate, delay: draw.pick(&pick("access delay"), &[ms(0), ms(3), ms(25)]), limit };
        let core = 2 * half;
        own.extend([link, link.reverse()]);
        let [one, other] = [core + own.len() as u32 - 2, core + own.len() as u32 - 1];
        if draw.chance(&pick("egress"), 0.5) {
            forward.push(one);
            back.insert(0, other);
        } else {
            forward.insert(0, one);
            back.push(other);
        }
    }
    let traffic = traffic(draw, &name);
    let start = at_ms(draw.pick(&pick("start"), &[0, 0, 37, 1100]));
    let stop = draw.pick(&pick("stop"), &[Time::NEVER, Time::NEVER, at_ms(2600)]);
    let stack = (traffic.transport() == Transport::Tcp).then_some(number);
    Flow { name, group: number % 2, forward, back, paths, stack, traffic, start, stop, host: None }
}

/// A world whose first stack is this profile with some other options.
pub fn world(profile: &TcpOptions, draw: &Draw) -> WorldConfig<'static> {
    let (half, flows) = (draw.pick("hops", &HALVES), draw.pick("flows", &[1u32, 1, 2, 4]));
    let links = (0..2 * half).map(|at| link(&format!("link{at}"), (at + half) % (2 * half), draw)).collect();
    let chance = |number: u32| if draw.0 == 0 { 0.0 } else { [0.08, 0.25][number as usize % 2] };
    let mut own = Vec::new();
    let flows: Vec<Flow> = (0..flows).map(|number| flow(number, half, draw, &mut own)).collect();
    WorldConfig {
        seed: draw.0,
        end: at_ms(draw.pick("end", &[2_500, 4_000, 9_000])),
        warmup: at_ms(draw.pick("warm-up", &[0, 0, 800])),
        links,
        access_links: own.into(),
        stacks: (0..flows.len() as u32).map(|number| stack(profile, draw, &format!("stack{number}"), chance(number))).collect(),
        flows: flows.into(),
        all_events: false,
    }
}
