//! A run: endpoints of foreign stacks over the simulated network.

use crate::connection::{Connection, Side};
use crate::endpoint::{Datagram, FlowInfo, Pair};
use crate::error::Error;
use crate::log::{Log, PacketEvent, PacketKind, Run};
use crate::packets::Packets;
use crate::script::{Fate, Numbered, Rule, Script};
use sojourn_lab::ForeignRun;
use sojourn_scenario::Checked;
use sojourn_sim::{ForeignAction, ForeignEvent, ForeignPacket};
use sojourn_units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::time::Duration;

/// Makes both ends of a connection.
pub type MakePair<'a> = Box<dyn FnMut(&FlowInfo) -> Pair + 'a>;

/// A network, the stacks that use it, and a script.
pub struct Harness<'a> {
    scenario: Checked,
    seed: u64,
    hosts: BTreeMap<String, MakePair<'a>>,
    script: Script,
}

impl<'a> Harness<'a> {
    /// A harness for a checked scenario with its seed.
    pub fn new(scenario: Checked) -> Self {
        let seed = scenario.seed;
        Harness { scenario, seed, hosts: BTreeMap::new(), script: Script::default() }
    }

    /// Sets the seed of the network's random numbers and of the endpoints.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Harness { seed, ..self }
    }

    /// Supplies the endpoints of all flows with `host = "name"`.
    #[must_use]
    pub fn host(mut self, name: &str, make: impl FnMut(&FlowInfo) -> Pair + 'a) -> Self {
        self.hosts.insert(name.into(), Box::new(make));
        self
    }

    /// Applies a fate to packets that the sending end of `flow`, such as "web/0", sends.
    /// The first packet has the number 1.
    #[must_use]
    pub fn on_data(self, flow: &str, packets: RangeInclusive<u64>, fate: Fate) -> Self {
        self.with_rule(flow, false, packets, fate)
    }

    /// Applies a fate to packets that the receiving end of `flow` sends: acknowledgments.
    #[must_use]
    pub fn on_acks(self, flow: &str, packets: RangeInclusive<u64>, fate: Fate) -> Self {
        self.with_rule(flow, true, packets, fate)
    }

    /// Applies a fate to the packets that the sending end of `flow` sends during a time.
    #[must_use]
    pub fn on_data_during(mut self, flow: &str, during: Range<Duration>, fate: Fate) -> Self {
        self.script.rules.push(Rule { flow: flow.into(), back: false, first: 1, last: u64::MAX, during, most: u64::MAX, fate });
        self
    }

    /// Applies a fate to the first packets that the sending end of `flow` sends from a time on.
    /// `count` is their number.
    #[must_use]
    pub fn on_data_from(mut self, flow: &str, from: Duration, count: u64, fate: Fate) -> Self {
        let during = from..Duration::MAX;
        self.script.rules.push(Rule { flow: flow.into(), back: false, first: 1, last: u64::MAX, during, most: count, fate });
        self
    }

    fn with_rule(mut self, flow: &str, back: bool, packets: RangeInclusive<u64>, fate: Fate) -> Self {
        let (first, last) = packets.into_inner();
        let during = Duration::ZERO..Duration::MAX;
        self.script.rules.push(Rule { flow: flow.into(), back, first, last, during, most: u64::MAX, fate });
        self
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// A host that nobody supplies, an endpoint that breaks a rule, or an error of the engine.
    pub fn run(mut self) -> Result<Run, Error> {
        let run = ForeignRun::new(&self.scenario, self.seed)?;
        let mut connections = self.connect(&run)?;
        let end = run.plan().duration;
        let headers = connections.values_mut().map(|connection| (connection.name.to_string(), connection.headers(Side::Sender))).collect();
        let mut running = Running {
            run,
            end,
            connections,
            script: self.script,
            packets: Packets::default(),
            held: BTreeSet::new(),
            behind: Vec::new(),
            timers: BTreeSet::new(),
            log: Log { headers, ..Log::default() },
        };
        running.advance()?;
        running.finish()
    }

    fn connect(&mut self, run: &ForeignRun) -> Result<BTreeMap<u32, Connection>, Error> {
        let mut connections = BTreeMap::new();
        for (number, flow) in (0u32..).zip(&run.plan().flows) {
            let Some(host) = &flow.host else { continue };
            let Some(make) = self.hosts.get_mut(host) else {
                let known = self.hosts.keys().cloned().collect::<Vec<_>>().join(", ");
                let known = if known.is_empty() { "none".into() } else { known };
                return Err(Error::Scenario(format!(
                    "flow {}: expected a host that the harness supplies ({known}), got \"{host}\"",
                    flow.name
                )));
            };
            let seed = sojourn_units::Stream::named(self.seed, &format!("flow/{}/host", flow.name)).below(u64::MAX);
            let pair = make(&FlowInfo { name: flow.name.clone(), seed });
            connections.insert(number, Connection::new(&flow.name, host, pair));
        }
        Ok(connections)
    }
}

/// A packet that a script holds back, by its time.
type Held = (Time, u64, u32, bool);

/// A packet that a script holds back until another one has entered the network.
/// `last` is the number of that one.
struct Behind {
    flow: u32,
    back: bool,
    last: u64,
    token: u64,
}

/// A run in progress.
struct Running {
    run: ForeignRun,
    end: Time,
    connections: BTreeMap<u32, Connection>,
    script: Script,
    packets: Packets,
    held: BTreeSet<Held>,
    behind: Vec<Behind>,
    timers: BTreeSet<(Time, u32, Side)>,
    log: Log,
}

impl Running {
    /// Runs all events to the end.
    /// At one time, packets come before timers, and timers before packets that a script held back.
    fn advance(&mut self) -> Result<(), Error> {
        loop {
            let timer = self.timers.first().copied();
            let held = self.held.first().copied();
            let times = timer.map(|timer| timer.0).into_iter().chain(held.map(|held| held.0));
            let next = times.min().unwrap_or(Time::NEVER);
            if let Some(event) = self.run.next(next)? {
                self.on_event(&event)?;
            } else if next > self.end {
                return Ok(());
            } else if let Some((at, flow, side)) = timer.filter(|timer| timer.0 == next) {
                self.call(at, flow, side, |connection, now| connection.on_timeout(side, now))?;
            } else if let Some(held) = self.held.pop_first() {
                let (at, token, flow, back) = held;
                self.enter(at, flow, back, token);
            }
        }
    }

    fn on_event(&mut self, event: &ForeignEvent) -> Result<(), Error> {
        let ForeignEvent { at, flow, action } = *event;
        match action {
            ForeignAction::Write { bytes, last } => self.call(at, flow, Side::Sender, |connection, now| connection.write(now, bytes, last)),
            ForeignAction::Stop => self.call(at, flow, Side::Sender, Connection::stop),
            ForeignAction::Duplicate(packet) => {
                self.packets.copy(packet.token);
                Ok(())
            }
            ForeignAction::Drop(packet) => {
                self.packets.take(packet.token);
                self.log(at, &packet, PacketKind::Dropped);
                Ok(())
            }
            ForeignAction::Arrive(packet) => {
                self.log(at, &packet, PacketKind::Arrived);
                let Some(payload) = self.packets.take(packet.token) else { return Ok(()) };
                let datagram = Datagram { payload, ecn: packet.ecn };
                let side = if packet.back { Side::Sender } else { Side::Receiver };
                self.call(at, flow, side, |connection, now| connection.receive(side, now, datagram))
            }
        }
    }

    /// Calls an endpoint, sends all its packets, and sets its timer.
    fn call(
        &mut self,
        at: Time,
        flow: u32,
        side: Side,
        action: impl FnOnce(&mut Connection, Duration) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let now = Duration::from_nanos(at.as_nanos());
        let Some(connection) = self.connections.get_mut(&flow) else { return Ok(()) };
        action(connection, now)?;
        let sent = connection.transmit(side, now)?;
        let timer = connection.timer(side, now)?;
        let news = connection.news(now)?;
        self.log.add(&connection.name, now, &news);
        if news.delivered > 0 {
            self.run.deliver(at, flow, news.delivered);
        }
        if let Some(rtt) = news.rtt {
            self.run.sample_rtt(at, flow, rtt.into());
        }
        if news.complete {
            self.run.complete(at, flow);
        }
        if let Some(before) = timer.before {
            self.timers.remove(&(before, flow, side));
        }
        if let Some(after) = timer.after {
            self.timers.insert((after, flow, side));
        }
        for datagram in sent {
            self.send(at, flow, side, datagram);
        }
        Ok(())
    }

    /// Sends a datagram, unless the script decides otherwise.
    fn send(&mut self, at: Time, flow: u32, side: Side, datagram: Datagram) {
        let back = side == Side::Receiver;
        let Some(connection) = self.connections.get_mut(&flow) else { return };
        let number = connection.count(side);
        let size = (datagram.payload.len() + connection.headers(side)) as u16;
        let mut packet = ForeignPacket { flow, back, size, ecn: datagram.ecn, token: 0 };
        let now = Duration::from_nanos(at.as_nanos());
        let fate = self.script.fate(&connection.name, now, Numbered { back, number, ecn: datagram.ecn });
        packet.token = self.packets.add(datagram, size);
        self.log(at, &packet, PacketKind::Sent);
        match fate {
            None => self.enter(at, flow, back, packet.token),
            Some(Fate::Mark) => {
                self.packets.mark(packet.token);
                self.enter(at, flow, back, packet.token);
            }
            Some(Fate::Drop) => {
                self.packets.take(packet.token);
                self.log(at, &packet, PacketKind::Dropped);
            }
            Some(Fate::Delay(time)) => {
                self.held.insert((at + time.into(), packet.token, flow, back));
            }
            Some(Fate::Behind(count)) => self.behind.push(Behind { flow, back, last: number + count, token: packet.token }),
        }
        let due = |behind: &mut Behind| (behind.flow, behind.back) == (flow, back) && behind.last <= number;
        for behind in self.behind.extract_if(.., due).collect::<Vec<_>>() {
            self.enter(at, flow, back, behind.token);
        }
    }

    /// A packet enters the network.
    fn enter(&mut self, at: Time, flow: u32, back: bool, token: u64) {
        let Some((size, ecn)) = self.packets.get(token) else { return };
        self.run.send(at, &ForeignPacket { flow, back, size, ecn, token });
    }

    fn log(&mut self, at: Time, packet: &ForeignPacket, kind: PacketKind) {
        let Some(connection) = self.connections.get(&packet.flow) else { return };
        let &ForeignPacket { back, size, ecn, token, .. } = packet;
        let at = Duration::from_nanos(at.as_nanos());
        self.log.packets.push(PacketEvent { at, flow: Arc::clone(&connection.name), back, number: token, size, ecn, kind });
    }

    fn finish(self) -> Result<Run, Error> {
        let outcome = self.run.finish()?;
        Ok(Run { record: outcome.record, series: outcome.series, log: self.log })
    }
}
