//! What hosts do: receivers answer, senders go on, sessions open connections.

use crate::flow::{Endpoint, Flow, Over};
use crate::net::{Net, Travel};
use crate::observe::Observer;
use crate::packet::{Packet, flag};
use crate::schedule::Kind;
use crate::tcp::sender::{Call, Outlet, Progress};
use crate::tcp::{Receiver, Sender};
use crate::world::{Completion, World};
use sojourn_traffic::{Action, Write};
use sojourn_units::{Duration, Stream, Time};

/// Sends a sender's segments on their way: they wait for an event somewhere, so nothing else happens meanwhile.
pub(crate) struct Way<'a, O> {
    net: &'a mut Net,
    observer: &'a mut O,
    begin: u32,
}

impl<O: Observer> Outlet for Way<'_, O> {
    #[inline(always)]
    fn send(&mut self, now: Time, mut packet: Packet) {
        packet.hop = self.begin;
        self.net.audit.sent += 1;
        self.observer.on_send(now, &packet);
        let settled = self.net.travel(now, &mut packet, false, self.observer);
        debug_assert!(matches!(settled, Travel::Settled), "no way leads from a sender to its receiver without an event");
    }
}

/// A call of a sender of `$flow` at `$now`, its segments sent on their way.
macro_rules! call {
    ($world:ident, $flow:ident, $now:expr) => {
        Call {
            now: $now,
            params: &$world.stacks[$flow.stack as usize],
            out: Way { net: &mut $world.net, observer: &mut $world.observer, begin: $flow.route.forward },
        }
    };
}

/// How long a slot rests after a connection, so that nothing of it is under way when the next one takes the slot
/// (RFC 9293 section 3.4.1: two segment lifetimes, here short ones). A receiver may have answered ahead of the world's
/// time what would otherwise reach it when it serves another connection already.
const TIME_WAIT: Duration = Duration::from_secs(4);

impl Net {
    /// Plans an event by the time the sending side of this flow is due, where none comes before.
    #[inline]
    fn arm_sender(&mut self, index: u32, flow: &mut Flow) {
        let due = flow.sender_due();
        let armed = match &mut flow.endpoint {
            Endpoint::Tcp(sender) => &mut sender.armed,
            Endpoint::Udp { armed, .. } => armed,
        };
        if due != Time::NEVER && armed.is_none_or(|armed| armed > due) {
            *armed = Some(due);
            self.plan(due, Kind::SenderTimer, index, &Packet::NOTHING);
        }
    }
}

impl<O: Observer> World<O> {
    /// A packet reaches the end of its route at `now`, which may lie ahead of the world's time.
    #[inline]
    pub(crate) fn end_of_route(&mut self, now: Time, packet: &Packet) {
        self.net.audit.delivered += 1;
        // A sum, so that it doesn't depend on the order in which endpoints that can't affect each other were run.
        let place = now.as_nanos() ^ (u64::from(packet.flow) << 40) ^ packet.seq.rotate_left(20) ^ (u64::from(packet.flags) << 52);
        let mixed = u128::from(place ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.net.fingerprint = self.net.fingerprint.wrapping_add(((mixed >> 64) ^ mixed) as u64);
        if packet.has(flag::BACK) { self.at_sender(now, packet) } else { self.at_receiver(now, packet) }
    }

    #[inline]
    fn at_receiver(&mut self, now: Time, packet: &Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        self.net.audit.early += u64::from(now.since(packet.stamp).as_nanos() < flow.route.least);
        let counts = now >= self.warmup;
        flow.stats.received += if counts { u64::from(packet.size) } else { 0 };
        flow.stats.packets += u64::from(counts);
        flow.stats.marked += u64::from(counts && packet.has(flag::CE));
        let sender = match &flow.endpoint {
            Endpoint::Udp { echo, .. } => {
                let comes_back = echo.is_some();
                flow.stats.delivered += if counts { u64::from(packet.size) } else { 0 };
                self.observer.on_deliver(now, packet, u64::from(packet.size));
                if comes_back {
                    self.launch(now, Packet { flags: flag::BACK, extra: 0, ..*packet });
                }
                return;
            }
            Endpoint::Tcp(sender) => sender,
        };
        if packet.incarnation != sender.incarnation() {
            return self.observer.on_deliver(now, packet, 0);
        }
        if flow.receiver.deadline() < now {
            self.receiver_until(now, packet.flow);
        }
        let flow = &mut self.flows[packet.flow as usize];
        let params = &self.stacks[flow.stack as usize];
        let (bytes, ack) = flow.receiver.on_segment(now, packet, params, &mut self.net.pool);
        flow.stats.delivered += if counts { bytes } else { 0 };
        let waits = flow.receiver.deadline() != Time::NEVER;
        self.observer.on_deliver(now, packet, bytes);
        if let Some(ack) = ack {
            self.launch(now, ack);
        }
        if waits {
            self.arm_receiver(packet.flow);
        }
    }

    /// Runs a receiver's timer as often as it is due before `now`.
    #[cold]
    fn receiver_until(&mut self, now: Time, index: u32) {
        while self.flows[index as usize].receiver.deadline() < now {
            self.receiver_acts(index);
        }
    }

    /// Runs a receiver's timer at the time it is due.
    fn receiver_acts(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let (due, Endpoint::Tcp(sender)) = (flow.receiver.deadline(), &flow.endpoint) else { return };
        let params = &self.stacks[flow.stack as usize];
        if let Some(ack) = flow.receiver.on_timer(due, index, sender.incarnation(), params, &mut self.net.pool) {
            self.launch(due, ack);
        }
    }

    /// A host sends a packet at `at`.
    #[inline(always)]
    fn launch(&mut self, at: Time, mut packet: Packet) {
        let route = &self.flows[packet.flow as usize].route;
        packet.hop = if packet.has(flag::BACK) { route.back } else { route.forward };
        self.net.audit.sent += 1;
        self.observer.on_send(at, &packet);
        if let Travel::Ends(time) = self.net.travel(at, &mut packet, false, &mut self.observer) {
            self.end_of_route(time, &packet);
        }
    }

    #[inline]
    fn at_sender(&mut self, now: Time, ack: &Packet) {
        let blocks = self.net.pool.take(ack.extra);
        let index = ack.flow as usize;
        if self.flows[index].sender_due() < now {
            self.sender_until(now, ack.flow, false);
        }
        self.observer.on_deliver(now, ack, 0);
        let flow = &mut self.flows[index];
        let sender = match &mut flow.endpoint {
            Endpoint::Tcp(sender) => sender,
            Endpoint::Udp { echo, .. } => {
                let rtt = now.since(ack.stamp);
                if let Some(echo) = echo.as_mut().filter(|_| now >= self.warmup) {
                    echo.add(rtt.as_secs_f64());
                    self.rtts[flow.group as usize].add(rtt.as_nanos());
                }
                return self.observer.on_rtt(now, ack.flow, rtt.as_nanos());
            }
        };
        if ack.incarnation != sender.incarnation() {
            return;
        }
        let progress = sender.on_ack(ack, blocks, &mut call!(self, flow, now));
        self.observer.on_window(now, ack.flow, sender.cwnd(), sender.ssthresh());
        if let Some(rtt) = sender.fresh_rtt.take() {
            self.observer.on_rtt(now, ack.flow, rtt.as_nanos());
            if now >= self.warmup {
                self.rtts[flow.group as usize].add(rtt.as_nanos());
            }
        }
        self.net.arm_sender(ack.flow, flow);
        if self.counts_flows {
            self.count_flow(now, ack.flow);
        }
        if progress == Progress::Complete {
            self.complete(now, ack.flow);
        }
    }

    /// Tells links that count flows where this one became active at `at`, or ceased to be.
    fn count_flow(&mut self, at: Time, index: u32) {
        let flow = &mut self.flows[index as usize];
        let Endpoint::Tcp(sender) = &flow.endpoint else { return };
        let active = sender.is_active();
        if std::mem::replace(&mut flow.counted, active) == active {
            return;
        }
        let mut hop = flow.route.forward as usize;
        loop {
            match self.net.hops[hop].leads() {
                Over::End => return,
                Over::Lane(_) => {}
                Over::Link(link) if self.net.links[link].counts_flows() => self.net.links[link].flow_changes(at, active),
                Over::Link(_) => {}
            }
            hop += 1;
        }
    }

    /// Makes sure that an event will come by the time the sending side is due; timers that move
    /// later keep their event, which then finds nothing due.
    #[inline]
    pub(crate) fn arm_sender(&mut self, index: u32) {
        self.net.arm_sender(index, &mut self.flows[index as usize]);
    }

    #[inline]
    fn arm_receiver(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let due = flow.receiver.deadline();
        if due != Time::NEVER && flow.receiver.armed.is_none_or(|armed| armed > due) {
            flow.receiver.armed = Some(due);
            self.net.plan(due, Kind::ReceiverTimer, index, &Packet::NOTHING);
        }
    }

    pub(crate) fn sender_timer(&mut self, now: Time, index: u32) {
        let armed = match &mut self.flows[index as usize].endpoint {
            Endpoint::Tcp(sender) => &mut sender.armed,
            Endpoint::Udp { armed, .. } => armed,
        };
        if *armed != Some(now) {
            return;
        }
        *armed = None;
        self.sender_until(now, index, true);
        self.arm_sender(index);
    }

    /// Does, in order, what the sending side is due to do before `now`, or by then if `inclusive`.
    fn sender_until(&mut self, now: Time, index: u32, inclusive: bool) {
        loop {
            let flow = &mut self.flows[index as usize];
            let due = flow.sender_due();
            if due > now || (due == now && !inclusive) || due == Time::NEVER {
                return;
            }
            let mut action = None;
            if let Some(application) = flow.application.as_mut().filter(|_| flow.application_due == due) {
                action = Some(application.act());
                flow.application_due = application.due();
            }
            match &mut flow.endpoint {
                Endpoint::Udp { sent, .. } => {
                    if let Some(Action::Write(Write { bytes: Some(size), .. })) = action {
                        *sent += size;
                        flow.stats.sent += u64::from(due >= self.warmup);
                        let packet = Packet { seq: *sent - size, stamp: due, flow: index, size: size as u16, ..Packet::NOTHING };
                        self.launch(due, packet);
                    }
                }
                Endpoint::Tcp(sender) => {
                    let mut call = call!(self, flow, due);
                    match action {
                        None => sender.on_timer(&mut call),
                        Some(Action::Stop) => sender.stop(),
                        Some(Action::Write(Write { bytes, last, .. })) => sender.write(bytes, last, &mut call),
                    }
                    if let Some(Action::Write(Write { bytes: Some(bytes), last: true, .. })) = action {
                        flow.size = bytes;
                    }
                    self.observer.on_window(due, index, sender.cwnd(), sender.ssthresh());
                    if self.counts_flows {
                        self.count_flow(due, index);
                    }
                    self.arm_sender(index);
                }
            }
        }
    }

    pub(crate) fn receiver_timer(&mut self, now: Time, index: u32) {
        let flow = &mut self.flows[index as usize];
        if flow.receiver.armed != Some(now) {
            return;
        }
        flow.receiver.armed = None;
        if flow.receiver.deadline() == now {
            self.receiver_acts(index);
        }
        self.arm_receiver(index);
    }

    /// A finite transfer is complete at `now`.
    fn complete(&mut self, now: Time, index: u32) {
        let flow = &mut self.flows[index as usize];
        flow.completed += u64::from(now >= self.warmup && flow.then == 0);
        let (group, opened, size, session, then) = (flow.group, flow.opened, flow.size, flow.session, flow.then);
        let Some(session) = session else {
            if now >= self.warmup {
                self.completions.push(Completion { group, opened, closed: now, size });
            }
            return;
        };
        let state = &mut self.sessions[session as usize];
        if then > 0 {
            // A request is through: its object follows.
            state.free.1.insert((now + TIME_WAIT, index));
            return self.wake_session(session, now, &Packet { seq: then, stamp: opened, ..Packet::NOTHING });
        }
        state.free.0.insert((now + TIME_WAIT, index));
        if now >= self.warmup {
            self.completions.push(Completion { group, opened, closed: now, size });
        }
        if let Some(next) = state.session.on_complete(now) {
            self.wake_session(session, next, &Packet::NOTHING);
        }
    }

    /// Plans a session's next event; a packet with `seq` > 0 stands for a connection of so many bytes
    /// whose request was sent at `stamp`.
    pub(crate) fn wake_session(&mut self, session: u32, at: Time, what: &Packet) {
        let state = &mut self.sessions[session as usize];
        state.count = state.count.wrapping_add(1);
        self.net.schedule.push(at, Kind::Session, session, state.count, what);
    }

    pub(crate) fn session_event(&mut self, now: Time, session: u32, what: Packet) {
        if what.seq > 0 {
            return self.open(now, what.stamp, session, what.seq, 0);
        }
        let state = &mut self.sessions[session as usize];
        let mss = self.stacks[state.stack as usize].mss;
        let opening = state.session.open(now);
        if let Some(next) = opening.next {
            self.wake_session(session, next, &Packet::NOTHING);
        }
        let Some(connection) = opening.connection else { return };
        let bytes = connection.size.in_bytes(mss);
        match connection.request {
            0 => self.open(now, now, session, bytes, 0),
            request => self.open(now, now, session, request, bytes),
        }
    }

    /// Opens a connection of `bytes` in a free slot or a new one; `then` > 0 makes it a request for so many bytes.
    fn open(&mut self, now: Time, since: Time, session: u32, bytes: u64, then: u64) {
        let state = &mut self.sessions[session as usize];
        let (group, stack) = (state.group, state.stack);
        let (free, route) = if then > 0 { (&mut state.free.1, state.routes.1) } else { (&mut state.free.0, state.routes.0) };
        let ready = free.first().is_some_and(|&(from, _)| from <= now);
        let slot = if ready { free.pop_first().map(|(_, slot)| slot) } else { None };
        let name = format!("{}/{}", state.name, self.flows.len());
        let index = match slot {
            Some(index) => index,
            // The stack was checked when the world was made, so a new slot can't fail.
            None => match self.add_flow(route, group, Some(stack), Some(session), &name) {
                Ok(index) => index,
                Err(_) => return,
            },
        };
        self.reopen(now, index, slot.is_some());
        let flow = &mut self.flows[index as usize];
        (flow.opened, flow.size, flow.then) = (since, bytes, then);
        let Endpoint::Tcp(sender) = &mut flow.endpoint else { return };
        sender.write(Some(bytes), true, &mut call!(self, flow, now));
        if self.counts_flows {
            self.count_flow(now, index);
        }
        self.arm_sender(index);
    }

    /// Makes a used slot fresh: packets of its earlier connections are told apart by their incarnation.
    fn reopen(&mut self, now: Time, index: u32, used: bool) {
        if !used {
            return;
        }
        let flow: &mut Flow = &mut self.flows[index as usize];
        let Endpoint::Tcp(sender) = &mut flow.endpoint else { return };
        let params = &self.stacks[flow.stack as usize];
        let mut phase = Stream::named(self.seed ^ now.as_nanos(), "slot/clock");
        let phase = Duration::from_nanos(phase.below(params.tick.as_nanos()));
        let incarnation = sender.incarnation().wrapping_add(1);
        if let Ok(mut fresh) = Sender::new(index, incarnation, phase, self.warmup, params) {
            fresh.stats = sender.stats;
            fresh.armed = sender.armed;
            **sender = fresh;
        }
        let armed = flow.receiver.armed;
        flow.receiver = Receiver::new(params).unwrap_or_default();
        flow.receiver.armed = armed;
    }
}
