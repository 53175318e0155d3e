//! TCP behavior as scripts that a network engineer can read: `conformance/*.txt`.
//!
//! A script defines losses and marks and the resulting timeline. Above its line of dashes stand the settings, one a line. Below it is the
//! timeline, one line for each time the sender acts:
//!
//! ```text
//! tcp recovery=newreno iw=4         options that differ from the rfc profile's (see `options` below)
//! delay 50 ms                       one way; links are so fast that the transmission time is negligible
//! writes 20 segments                or: writes 5 segments every 2 s
//! lose 3                            the first sending of segment 3; `3#2` the second, `syn`, `ack 9`, `ack 9#2`
//! mark 7                            congestion at segment 7: a mark if it can carry one, otherwise a loss
//! strips accecn there               a middlebox on the path of the data (or `back`) removes an option from packets: `accecn` or `sack`
//! drops accecn back                 a middlebox drops the packets that have the option
//! show receiver                     adds lines of the receiver
//! show rtt                          samples of the round-trip time, in ms
//! show feedback                     with the receiver's lines: size and ACE field of ACKs, kind and fields of AccECN's option; the ACE
//!                                   field of the sender's packets, if it differs from that of a host without marks
//! end 3 s
//! ---
//!   100.0  ack 4 sack 6-8       cwnd  4.00  ssthresh  4   sends 4r 9(lost)
//! ```
//!
//! Times are in ms. Segments are numbered from 1, and `ack 4` asks for segment 4 next; `r` is a retransmission, `C` carries CWR, `(lost)`
//! and `(marked)` are actions of the script. The window is the one after the line's event, in segments. `SOJOURN_BLESS=1` rewrites the
//! timelines; compare changes with the RFC that the script names.

use crate::watch::Watch;
use sojourn_aqm::{Amount, AnyAqm, Aqm, ArrivalVerdict, Backlog, PacketView, QueueController};
use sojourn_link::kinds::tcp_option::{self, Action};
use sojourn_link::{ImpairmentConfig, Impairments, TcpOption};
use sojourn_sim::tcp::{AccEcnOption, AckOptions, Ecn, Handshake, Recovery, TcpOptions};
use sojourn_sim::{HostDoes, LinkConfig, Observer, Packet, World, WorldConfig, flag};
use sojourn_spec::flow::Flow;
use sojourn_spec::link::{Link as PlannedLink, Measure};
use sojourn_spec::tcp::{PROFILES, SackAlgorithm};
use sojourn_traffic::{Traffic, kinds::bulk, kinds::cbr};
use sojourn_units::{Bytes, Duration, Rate, Stream, Time, parse_duration, parse_rate};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// The actions of the script on the links, and the number of transmissions of each segment.
#[derive(Default, Debug)]
struct Fate {
    lose: Vec<String>,
    mark: Vec<String>,
    sent: HashMap<String, u32>,
    next: Option<ArrivalVerdict>,
}

/// The ACE field of a host without received marks (rfc9768#3.2.1).
const NO_MARKS: u16 = 5;

#[derive(Clone)]
struct Scripted(Arc<Mutex<Fate>>);

impl Aqm for Scripted {
    fn on_enqueue(&mut self, _: &PacketView, _: &Backlog, _: &mut Stream) -> ArrivalVerdict {
        self.0.lock().unwrap().next.take().unwrap_or(ArrivalVerdict::Pass)
    }
}

#[derive(Default)]
struct Line {
    time: Time,
    event: String,
    window: String,
    sends: Vec<String>,
}

/// The number of the segment that begins with this byte.
fn segment(byte: u64, mss: u64) -> String {
    let (whole, rest) = (byte / mss + 1, byte % mss);
    if rest == 0 { whole.to_string() } else { format!("{whole}+{rest}") }
}

fn name(packet: &Packet, mss: u64, header: u64) -> String {
    if packet.has(flag::SYN) {
        return if packet.has(flag::BACK) { "syn-ack".into() } else { "syn".into() };
    }
    if packet.has(flag::ACK) {
        return if packet.has(flag::BACK) { format!("ack {}", segment(packet.seq, mss)) } else { "ack".into() };
    }
    if u64::from(packet.size) == header { "probe".into() } else { segment(packet.seq, mss) }
}

/// A packet of the sender with the signs of its flags.
pub fn sent_name(packet: &Packet, mss: u32, header: u32) -> String {
    let mut text = name(packet, mss.into(), header.into());
    for (bit, sign) in [(flag::RETRANSMIT, "r"), (flag::CWR, "C"), (flag::FIN, " fin")] {
        text += if packet.has(bit) { sign } else { "" };
    }
    text
}

pub fn window_text(cwnd: f64, ssthresh: f64) -> String {
    let threshold = if ssthresh >= 1e6 { "-".into() } else { format!("{}", (ssthresh * 100.0).round() / 100.0) };
    format!("cwnd {cwnd:5.2}  ssthresh {threshold:>3}")
}

/// A line of a timeline.
pub fn line_text(time: Time, event: &str, window: &str, sends: &[String]) -> String {
    let sends = if sends.is_empty() { String::new() } else { format!("sends {}", sends.join(" ")) };
    let text = format!("{:8.1}  {event:<26}{window:<28}{sends}", time.as_secs_f64() * 1e3);
    text.trim_end().to_string() + "\n"
}

struct Timeline {
    fate: Arc<Mutex<Fate>>,
    mss: u64,
    header: u64,
    show_receiver: bool,
    show_rtt: bool,
    show_feedback: bool,
    /// The lines of the sender and of the receiver.
    lines: [Vec<Line>; 2],
}

impl Timeline {
    fn name(&self, packet: &Packet) -> String {
        name(packet, self.mss, self.header)
    }
}

impl Observer for Timeline {
    fn on_send(&mut self, now: Time, packet: &Packet) {
        let name = self.name(packet);
        let mut fate = self.fate.lock().unwrap();
        let count = fate.sent.entry(name.clone()).or_default();
        *count += 1;
        let place = format!("{name}#{count}");
        let said = |list: &[String]| list.iter().any(|x| x.split('#').count() == 1 && format!("{x}#1") == place || *x == place);
        let (lost, marked) = (said(&fate.lose), said(&fate.mark));
        fate.next = if lost { Some(ArrivalVerdict::Drop) } else { marked.then_some(ArrivalVerdict::Signal) };
        drop(fate);
        let mut text = sent_name(packet, self.mss as u32, self.header as u32);
        let back = usize::from(packet.has(flag::BACK));
        if back == 1 {
            text += if packet.has(flag::ECE) { " ECE" } else { "" };
            text += &if packet.window == u16::MAX { String::new() } else { format!(" window {}", packet.window) };
        }
        text += match (lost, marked, packet.has(flag::ECT)) {
            (true, ..) | (_, true, false) => "(lost)",
            (_, true, true) => "(marked)",
            _ => "",
        };
        match self.lines[back].last_mut().filter(|line| line.time == now) {
            Some(line) => line.sends.push(text),
            None => self.lines[back].push(Line { time: now, event: "timer".into(), sends: vec![text], ..Default::default() }),
        }
    }

    fn watches_hosts(&self) -> bool {
        self.show_feedback
    }

    fn on_host(&mut self, _: Time, packet: &Packet, does: HostDoes, options: &AckOptions) {
        let (back, ace) = (packet.has(flag::BACK), packet.flags >> 13);
        let text = self.lines[usize::from(back)].last_mut().and_then(|line| line.sends.last_mut());
        let Some(text) = text.filter(|_| does == HostDoes::Sends) else { return };
        if !back {
            *text += &if ace == NO_MARKS || packet.has(flag::SYN) { String::new() } else { format!(" [ace {ace}]") };
            return;
        }
        *text += &format!(" [{} B, ace {ace}", packet.size);
        if let Some(counts) = options.byte_counts {
            *text += &format!(", {}:", counts.kind());
            counts.fields().for_each(|field| *text += &format!(" {field}"));
        }
        *text += "]";
    }

    fn on_deliver(&mut self, now: Time, packet: &Packet, _: u64) {
        let mut event = self.name(packet);
        if packet.has(flag::BACK) {
            event += if packet.has(flag::FIN) { " fin" } else { "" };
            event += if packet.has(flag::ECE) { " ECE" } else { "" };
            event += &if packet.window == u16::MAX { String::new() } else { format!(" window {}", packet.window) };
            self.lines[0].push(Line { time: now, event, ..Default::default() });
        } else {
            event += if packet.has(flag::CE) { " CE" } else { "" };
            self.lines[1].push(Line { time: now, event: format!("          receives {event}"), ..Default::default() });
        }
    }

    fn on_rtt(&mut self, _: Time, _: u32, rtt: u64) {
        if let Some(line) = self.lines[0].last_mut().filter(|_| self.show_rtt) {
            line.event += &format!(" rtt {:.0}", rtt as f64 * 1e-6);
        }
    }

    fn watches_senders(&self) -> bool {
        true
    }

    fn on_window(&mut self, now: Time, _: u32, cwnd: f64, ssthresh: f64) {
        // The window is shown on the line of the sender's action.
        if let Some(line) = self.lines[0].last_mut().filter(|line| line.time == now && line.window.is_empty()) {
            line.window = window_text(cwnd, ssthresh);
        }
    }
}

/// A script's settings.
struct Script {
    tcp: TcpOptions,
    delay: Duration,
    traffic: Traffic,
    end: Time,
    show_receiver: bool,
    show_rtt: bool,
    show_feedback: bool,
    fate: Fate,
    /// Impairments of the forward and the reverse link.
    impairments: [Vec<ImpairmentConfig>; 2],
}

/// The options of `tcp` lines.
pub fn options(tcp: &mut TcpOptions, words: &[&str]) {
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or_else(|| panic!("{word}: an option is key=value"));
        let number = || value.parse::<f64>().unwrap_or_else(|_| panic!("{word}: a number"));
        let time = || parse_duration(&spaced(value)).unwrap();
        match key {
            "profile" => {
                let profile = PROFILES.iter().find(|profile| profile.name == value).unwrap_or_else(|| panic!("{word}: a profile"));
                *tcp = TcpOptions { mss: 1000, handshake: Handshake::None, delayed_ack: None, ..(profile.options)() };
            }
            "recovery" => {
                tcp.recovery = match value {
                    "reno" => Recovery::Reno,
                    "newreno" => Recovery::NewReno,
                    "tahoe" => Recovery::Tahoe,
                    _ => Recovery::Sack,
                }
            }
            "sack_algorithm" => {
                assert_eq!(value, "rack-tlp", "{word}: the default has no name here");
                tcp.sack_algorithm = SackAlgorithm::RackTlp;
            }
            "handshake" => {
                tcp.handshake = match value {
                    "none" => Handshake::None,
                    "oneway" => Handshake::OneWay,
                    _ => Handshake::ThreeWay,
                }
            }
            "iw" => tcp.initial_window = number(),
            "ssthresh" => tcp.initial_ssthresh = number(),
            "window" => tcp.window = number() as u32,
            "delack" => tcp.delayed_ack = (value != "off").then(time),
            "limited" => tcp.limited_transmit = value == "on",
            "restart_after_idle" => tcp.restart_after_idle = value == "on",
            "timestamps" => tcp.timestamps = value == "on",
            "ecn" => {
                tcp.ecn = match value {
                    "on" => Ecn::Classic,
                    "dctcp" => Ecn::Dctcp,
                    "accurate" => Ecn::Accurate,
                    "l4s" => Ecn::L4s,
                    _ => Ecn::Off,
                }
            }
            "accecn" => {
                tcp.accecn_option = match value {
                    "recommended" => AccEcnOption::Recommended,
                    "minimum" => AccEcnOption::Minimum,
                    "full" => AccEcnOption::Full,
                    _ => AccEcnOption::Off,
                }
            }
            "cc" => {
                let entry = sojourn_cc::REGISTRY.iter().find(|entry| entry.name == value);
                tcp.control = (entry.unwrap_or_else(|| panic!("{word}: a controller")).default)();
            }
            "reader" => tcp.reader = Some(parse_rate(&spaced(value)).unwrap()),
            _ => panic!("{word}: not an option"),
        }
    }
}

/// "50ms" as "50 ms".
fn spaced(value: &str) -> String {
    let digits = value.find(|c: char| c.is_alphabetic()).unwrap_or(value.len());
    format!("{} {}", &value[..digits], &value[digits..])
}

/// The stack of a script that names no options.
pub fn base() -> TcpOptions {
    TcpOptions { mss: 1000, handshake: Handshake::None, delayed_ack: None, ..TcpOptions::rfc() }
}

fn read(head: &str) -> Script {
    let mut script = Script {
        tcp: base(),
        delay: Duration::from_millis(50),
        traffic: Traffic::default(),
        end: Time::ZERO + Duration::from_secs(1),
        show_receiver: false,
        show_rtt: false,
        show_feedback: false,
        fate: Fate::default(),
        impairments: Default::default(),
    };
    for line in head.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            ["tcp", words @ ..] => options(&mut script.tcp, words),
            ["delay", value @ ..] => script.delay = parse_duration(&value.join(" ")).unwrap(),
            ["end", value @ ..] => script.end = Time::ZERO + parse_duration(&value.join(" ")).unwrap(),
            ["lose", what @ ..] => script.fate.lose.push(what.join(" ")),
            ["mark", what @ ..] => script.fate.mark.push(what.join(" ")),
            [verb @ ("strips" | "drops"), option, way] => {
                let action = if *verb == "drops" { Action::Drop } else { Action::Strip };
                let option = if *option == "sack" { TcpOption::Sack } else { TcpOption::AccEcn };
                script.impairments[usize::from(*way == "back")].push(tcp_option::Params { option, action }.into());
            }
            ["show", "receiver"] => script.show_receiver = true,
            ["show", "rtt"] => script.show_rtt = true,
            ["show", "feedback"] => (script.show_receiver, script.show_feedback) = (true, true),
            ["writes", count, "segments"] => {
                let size = Bytes((count.parse::<f64>().unwrap() * f64::from(script.tcp.with_accecn_room().mss)) as u64);
                script.traffic = bulk::Params { size: Some(size) }.into();
            }
            ["writes", count, "segments", "every", gap @ ..] => {
                let size = count.parse::<u32>().unwrap() * script.tcp.with_accecn_room().mss;
                let gap = parse_duration(&gap.join(" ")).unwrap().as_nanos();
                let rate = Rate::from_bps((u128::from(size) * 8_000_000_000 / u128::from(gap)) as u64).unwrap();
                script.traffic = cbr::Params { rate, size: Bytes(size.into()), jitter: 0.0 }.into();
            }
            _ => panic!("{line}: not a setting"),
        }
    }
    script.tcp = script.tcp.with_accecn_room();
    script
}

fn link(name: &str, delay: Duration, impairments: Vec<ImpairmentConfig>, fate: &Arc<Mutex<Fate>>) -> LinkConfig {
    let aqm = AnyAqm::Custom(Box::new(Scripted(fate.clone())));
    let impairments = Impairments::new(&impairments, 1, name);
    let config = LinkConfig::new(
        PlannedLink {
            name: name.into(),
            rate: Rate::from_bps(1_000_000_000_000),
            delay,
            measure: Measure::Moments,
            ..PlannedLink::default()
        },
        QueueController::new(aqm, Amount::Packets(100_000), true, Stream::named(1, name)),
    );
    LinkConfig { impairments, ..config }
}

/// The timeline of a script's settings.
fn play(script: Script) -> String {
    let fate = Arc::new(Mutex::new(script.fate));
    let [there, back] = script.impairments;
    let timeline = Timeline {
        fate: fate.clone(),
        mss: u64::from(script.tcp.mss),
        header: u64::from(script.tcp.header),
        show_receiver: script.show_receiver,
        show_rtt: script.show_rtt,
        show_feedback: script.show_feedback,
        lines: Default::default(),
    };
    let config = WorldConfig {
        seed: 1,
        end: script.end,
        links: vec![link("there", script.delay, there, &fate), link("back", script.delay, back, &fate)],
        stacks: vec![script.tcp],
        flows: vec![Flow {
            name: "flow".into(),
            group: 0,
            forward: vec![0],
            back: vec![1],
            paths: None,
            stack: Some(0),
            traffic: script.traffic,
            host: None,
            start: Time::ZERO,
            stop: Time::NEVER,
        }]
        .into(),
        ..Default::default()
    };
    let timeline = Rc::new(RefCell::new(timeline));
    World::watched(config, Watch::of(&timeline)).unwrap().finish().unwrap();
    let mut timeline = timeline.borrow_mut();
    let [sender, receiver] = std::mem::take(&mut timeline.lines);
    let mut lines: Vec<Line> = sender.into_iter().chain(receiver.into_iter().filter(|_| timeline.show_receiver)).collect();
    lines.retain(|line| line.time <= script.end && !(line.event == "timer" && line.sends.is_empty()));
    lines.sort_by_key(|line| line.time);
    lines.iter().map(|line| line_text(line.time, &line.event, &line.window, &line.sends)).collect()
}

/// Every script of a folder gives the timeline below its dashes.
/// `play` takes the settings above them.
pub fn every_script_plays(folder: &str, play: impl Fn(&str) -> String) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut wrong = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let (head, expected) = text.split_once("---\n").unwrap_or((&text, ""));
        let settings: String = head.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        let played = play(&settings);
        if played == expected {
            continue;
        }
        if std::env::var_os("SOJOURN_BLESS").is_some() {
            std::fs::write(&path, format!("{}\n---\n{played}", head.trim_end())).unwrap();
        }
        let first = played.lines().zip(expected.lines()).find(|(is, was)| is != was);
        wrong.push(format!("{}: first difference {first:#?}", path.file_name().unwrap().to_string_lossy()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_script_plays_as_it_is_written() {
    every_script_plays("tests/conformance", |settings| play(read(settings)));
}
