//! A sender whose peer is a script: `by_hand/*.txt`.
//!
//! The scripts state what Linux does, as its kernel developers test it. Above the line of dashes stand the options of the stack and what
//! happens to the sender; below it what it does:
//!
//! ```text
//! tcp profile=linux cc=cubic         as in `conformance/*.txt`
//! at 0 ms writes 30                  segments; the first write opens the connection
//! at 100 ms syn-ack
//! at 205 ms ack 2 sack 4-5,7         the next segment that the peer expects, and those that it has beyond it
//! at 305 ms ack 11 window 0          the receive window in segments
//! at 305 ms ack 3 ECE
//! until 2 s                          timers run so long; default: to the last event
//! ---
//!   205.0  ack 2 sack 4-5,7          cwnd 11.00  ssthresh   -    sends 11 12
//! ```
//!
//! Not expressible: segments that are reported in part, a local queue without room, and release times of `fq`.
//!
//! `SOJOURN_BLESS=1` rewrites the timelines; compare changes with the rule that the script names.

use crate::conformance::{base, every_script_plays, line_text, options, sent_name, window_text};
use sojourn_sim::tcp::{AckOptions, Call, Handshake, Origin, SackBlocks, SegmentSink, Sender, TcpOptions};
use sojourn_sim::{Packet, flag};
use sojourn_units::{Duration, Time, parse_duration};
use std::collections::BTreeMap;

/// What happens to the sender.
enum Happens {
    Writes(u64),
    SynAck,
    Ack { next: u64, sack: Vec<(u64, u64)>, window: u16, echo: bool },
}

struct Script {
    tcp: TcpOptions,
    events: Vec<(Time, String, Happens)>,
    until: Time,
}

fn time(words: &[&str]) -> Time {
    Time::ZERO + parse_duration(&words.join(" ")).unwrap()
}

/// "4-5,7" as ranges of bytes.
fn blocks(text: &str, mss: u64) -> Vec<(u64, u64)> {
    let number = |word: &str| word.parse::<u64>().unwrap_or_else(|_| panic!("{text}: segments such as 4-5,7"));
    let block = |word: &str| {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        ((number(first) - 1) * mss, number(last) * mss)
    };
    text.split(',').map(block).collect()
}

fn ack(words: &[&str], mss: u64) -> Happens {
    let [next, rest @ ..] = words else { panic!("ack: which segment is next?") };
    let next = (next.parse::<u64>().unwrap() - 1) * mss;
    let (mut sack, mut window, mut echo) = (Vec::new(), u16::MAX, false);
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        match *word {
            "sack" => sack = blocks(rest.next().unwrap(), mss),
            "window" => window = rest.next().unwrap().parse().unwrap(),
            "ECE" => echo = true,
            _ => panic!("{word}: not a part of an ACK"),
        }
    }
    Happens::Ack { next, sack, window, echo }
}

fn read(head: &str) -> Script {
    let mut script = Script { tcp: base(), events: Vec::new(), until: Time::ZERO };
    for line in head.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            ["tcp", words @ ..] => options(&mut script.tcp, words),
            ["until", value @ ..] => script.until = time(value),
            ["at", number, unit, what @ ..] => {
                let mss = u64::from(script.tcp.mss);
                let happens = match what {
                    ["writes", count] => Happens::Writes(count.parse::<u64>().unwrap() * mss),
                    ["syn-ack"] => Happens::SynAck,
                    ["ack", rest @ ..] => ack(rest, mss),
                    _ => panic!("{line}: not an event"),
                };
                script.events.push((time(&[number, unit]), what.join(" "), happens));
            }
            _ => panic!("{line}: not a setting"),
        }
    }
    script.until = script.until.max(script.events.last().map_or(Time::ZERO, |event| event.0));
    script
}

/// The packets that leave in one call.
#[derive(Default)]
struct Wire(Vec<(Time, Packet)>);

impl SegmentSink for Wire {
    fn send(&mut self, now: Time, packet: Packet) {
        self.0.push((now, packet));
    }
}

struct Host {
    sender: Sender,
    tcp: TcpOptions,
    /// When each segment was last sent, by its first byte.
    sent: BTreeMap<u64, Time>,
    /// When the latest SYN was sent.
    syn: Time,
    /// How far the peer has acknowledged.
    acked: u64,
    text: String,
}

impl Host {
    fn new(tcp: TcpOptions) -> Host {
        let origin = Origin { flow: 0, incarnation: 0, clock_phase: Duration::ZERO, predicts: true };
        let sender = Sender::new(origin, &tcp).unwrap();
        Host { sender, tcp, sent: BTreeMap::new(), syn: Time::ZERO, acked: 0, text: String::new() }
    }

    /// One call of the sender, and its line of the timeline.
    fn call(&mut self, now: Time, event: &str, act: impl FnOnce(&mut Sender, &mut Call<Wire>)) {
        let mut call = Call { now, until: now, params: &self.tcp, count_from: Time::ZERO, rtt_sample: None, out: Wire::default() };
        act(&mut self.sender, &mut call);
        let mut sends = Vec::new();
        for (at, packet) in call.out.0 {
            if packet.has(flag::SYN) {
                self.syn = at;
            } else if !packet.has(flag::ACK) && u32::from(packet.size) > self.tcp.header {
                self.sent.insert(packet.seq, at);
            }
            sends.push(sent_name(&packet, self.tcp.mss, self.tcp.header));
        }
        if event != "timer" || !sends.is_empty() {
            let window = window_text(self.sender.cwnd(), self.sender.ssthresh());
            self.text += &line_text(now, event, &window, &sends);
        }
    }

    /// The sending time that an ACK echoes.
    /// It is that of the first segment that is newly acknowledged, or has newly arrived.
    fn echoed(&self, next: u64, sack: &[(u64, u64)], now: Time) -> Time {
        let first = if next > self.acked { self.acked } else { sack.first().map_or(next, |block| block.0) };
        self.sent.get(&first).copied().unwrap_or(now)
    }

    fn handle(&mut self, now: Time, text: &str, happens: Happens) {
        match happens {
            Happens::Writes(bytes) => self.call(now, text, |sender, call| sender.write(Some(bytes), false, call)),
            Happens::SynAck => {
                let ack =
                    Packet { stamp: self.syn, peer: now, flags: flag::SYN | flag::ACK | flag::BACK, window: u16::MAX, ..Packet::EMPTY };
                self.call(now, text, |sender, call| _ = sender.on_ack(&ack, &AckOptions::default(), call));
            }
            Happens::Ack { next, sack, window, echo } => {
                let flags = flag::ACK | flag::BACK | if echo { flag::ECE } else { 0 };
                let ack = Packet { seq: next, stamp: self.echoed(next, &sack, now), peer: now, flags, window, ..Packet::EMPTY };
                let sack = (!sack.is_empty()).then(|| sack.into_iter().collect::<SackBlocks>());
                self.acked = self.acked.max(next);
                self.call(now, text, |sender, call| _ = sender.on_ack(&ack, &AckOptions { sack, ..AckOptions::default() }, call));
            }
        }
    }

    /// Runs the timers that are due by `end`.
    fn run_timers(&mut self, end: Time) {
        while self.sender.deadline() <= end {
            self.call(self.sender.deadline(), "timer", Sender::on_timer);
        }
    }
}

fn play(head: &str) -> String {
    let Script { tcp, events, until } = read(head);
    let mut host = Host::new(TcpOptions { handshake: Handshake::ThreeWay, ..tcp });
    for (now, text, happens) in events {
        host.run_timers(now);
        host.handle(now, &text, happens);
    }
    host.run_timers(until);
    host.text
}

#[test]
fn a_sender_does_what_the_scripts_of_its_peer_say() {
    every_script_plays("tests/by_hand", play);
}
