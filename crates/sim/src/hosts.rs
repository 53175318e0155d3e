//! The actions of endpoints: receivers acknowledge, and senders continue.

use crate::accounts::PacketAccounts;
use crate::flow::{Endpoint, Transfer};
use crate::foreign::ForeignAction;
use crate::observer::Observer;
use crate::packet::{Packet, flag};
use crate::tcp::{AckOptions, Call, Progress, Received, Receiver, SegmentSink};
use crate::world::{RECEIVER_TIMER, SENDER_TIMER, World};
use sojourn_net::{Network, RouteId, packet_hash};
use sojourn_traffic::{Action, Write};
use sojourn_units::{Duration, Time};

/// Sends the segments of a sender on its route.
/// They wait for an event somewhere, so nothing else happens in the meantime.
pub(crate) struct RouteSink<'a, O> {
    network: &'a mut Network<Packet>,
    accounts: &'a mut PacketAccounts<O>,
    route: RouteId,
    transfer: Option<&'a mut Transfer>,
}

impl<O: Observer> SegmentSink for RouteSink<'_, O> {
    #[inline(always)]
    fn send(&mut self, now: Time, mut packet: Packet) {
        if let Some(transfer) = &mut self.transfer {
            transfer.travels.sent += 1;
        }
        self.accounts.sends(now, &packet);
        let delivered = self.network.send_in_place(now, self.route, &mut packet, self.accounts);
        debug_assert!(delivered.is_none(), "every route from a sender to its receiver has an event");
    }
}

/// Calls the sender of `$flow` at `$now`; its segments are sent on its route.
macro_rules! call {
    ($world:ident, $flow:ident, $now:expr) => {
        Call {
            now: $now,
            until: $now,
            params: &$world.stacks[$flow.stack as usize],
            count_from: $world.warmup,
            rtt_sample: None,
            out: RouteSink {
                network: &mut $world.network,
                accounts: &mut $world.accounts,
                route: $flow.routes.forward,
                transfer: $flow.transfer.as_deref_mut(),
            },
        }
    };
}

/// Ensures an event by the time the sending side of this flow is due.
/// `armed` is the time of the event that it already has.
#[inline]
fn arm_sender(network: &mut Network<Packet>, index: u32, due: Time, armed: &mut Time) {
    if due < *armed {
        *armed = due;
        network.set_timer(due, SENDER_TIMER, index, 0);
    }
}

/// Ensures an event by the time a receiver's timer is due.
#[inline]
fn arm_receiver(network: &mut Network<Packet>, index: u32, receiver: &mut Receiver) {
    let due = receiver.deadline();
    if due < receiver.armed() {
        receiver.set_armed(due);
        network.set_timer(due, RECEIVER_TIMER, index, 0);
    }
}

impl<O: Observer> World<O> {
    /// A packet reaches the end of its route at `now`, which may lie ahead of the world's time.
    #[inline]
    pub(crate) fn on_delivery(&mut self, now: Time, packet: &Packet) {
        // A sum, so that it doesn't depend on the order in which endpoints that can't affect each other were run.
        self.fingerprint = self.fingerprint.wrapping_add(packet_hash(now, packet.flow, packet.seq, packet.flags));
        if packet.has(flag::BACK) { self.at_sender(now, packet) } else { self.at_receiver(now, packet) }
    }

    /// A segment arrives at its receiver; most take the fast path and are acknowledged at once.
    #[inline(never)]
    fn at_receiver(&mut self, now: Time, packet: &Packet) {
        let flow = &self.flows[packet.flow as usize];
        let immediate = flow.receiver.acknowledges_each_at_once() && (flow.in_window || now < self.warmup);
        match self.stacks.get(flow.stack as usize) {
            Some(params) if immediate && flow.receiver.is_predicted(packet, params) => self.at_receiver_fast_path(now, packet),
            _ => self.at_receiver_slow_path(now, packet),
        }
    }

    /// Handles the next segment in order, which needs only an immediate ACK.
    #[inline(never)]
    fn at_receiver_fast_path(&mut self, now: Time, packet: &Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        let params = &self.stacks[flow.stack as usize];
        self.early += u64::from(now.since(packet.stamp) < flow.routes.least_delay);
        let (readable, mut ack) = flow.receiver.on_segment_fast_path(now, packet, params);
        flow.totals.received += u64::from(packet.size);
        flow.totals.packets += 1;
        flow.totals.delivered += readable;
        if let Some(transfer) = &mut flow.transfer {
            transfer.travels.data_arrives(now);
        }
        let back = flow.sends_back();
        self.accounts.gets(now, packet, readable, &AckOptions::default());
        self.send_ack(now, back, &mut ack);
    }

    /// Handles a packet of any kind from the sending side.
    #[inline(never)]
    fn at_receiver_slow_path(&mut self, now: Time, packet: &Packet) {
        let mut flow = &mut self.flows[packet.flow as usize];
        if !flow.in_window && now >= self.warmup {
            flow.open_window();
        }
        if let Some(transfer) = &mut flow.transfer {
            transfer.travels.data_arrives(now);
        }
        self.early += u64::from(now.since(packet.stamp) < flow.routes.least_delay);
        flow.totals.received += u64::from(packet.size);
        flow.totals.packets += 1;
        flow.totals.marked += u64::from(packet.has(flag::CE));
        let Endpoint::Tcp(sender) = &flow.endpoint else { return self.datagram_arrives(now, packet) };
        debug_assert_eq!(packet.incarnation, sender.incarnation(), "a slot is taken again when no packet of it is in the network");
        if flow.receiver.deadline() < now {
            self.receiver_until(now, packet.flow);
            flow = &mut self.flows[packet.flow as usize];
        }
        if flow.receiver.must_ack_before(packet, &self.stacks[flow.stack as usize]) {
            self.receiver_acts(packet.flow, now);
            flow = &mut self.flows[packet.flow as usize];
        }
        let params = &self.stacks[flow.stack as usize];
        let mut ack = Packet::EMPTY;
        let Received { readable, acks } = flow.receiver.on_segment(now, packet, params, &mut self.accounts.pool, &mut ack);
        flow.totals.delivered += readable;
        arm_receiver(&mut self.network, packet.flow, &mut flow.receiver);
        self.accounts.gets(now, packet, readable, &AckOptions::default());
        if acks {
            let back = flow.sends_back();
            self.send_ack(now, back, &mut ack);
        }
    }

    /// A receiver sends an ACK at `at` on this route.
    #[inline(always)]
    fn send_ack(&mut self, at: Time, route: RouteId, ack: &mut Packet) {
        self.accounts.sends(at, ack);
        if let Some(delivered) = self.network.send_in_place(at, route, ack, &mut self.accounts) {
            self.on_delivery(delivered, ack);
        }
    }

    /// A datagram arrives at its receiver, which may send it back.
    #[inline(never)]
    fn datagram_arrives(&mut self, now: Time, packet: &Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        let Endpoint::Udp(datagrams) = &flow.endpoint else { return };
        if datagrams.foreign {
            self.accounts.gets(now, packet, 0, &AckOptions::default());
            return self.accounts.tell_foreign(now, packet, ForeignAction::Arrive);
        }
        let comes_back = datagrams.echo.is_some();
        flow.totals.delivered += u64::from(packet.size);
        self.accounts.gets(now, packet, u64::from(packet.size), &AckOptions::default());
        if comes_back {
            self.send(now, Packet { flags: flag::BACK, extra: 0, ..*packet });
        }
    }

    /// Runs a receiver's timer each time it is due before `now`.
    #[inline(never)]
    fn receiver_until(&mut self, now: Time, index: u32) {
        loop {
            let due = self.flows[index as usize].receiver.deadline();
            if due >= now {
                return;
            }
            self.receiver_acts(index, due);
        }
    }

    /// A receiver sends its delayed ACK or its window update at `due`.
    fn receiver_acts(&mut self, index: u32, due: Time) {
        let flow = &mut self.flows[index as usize];
        let Endpoint::Tcp(sender) = &flow.endpoint else { return };
        let params = &self.stacks[flow.stack as usize];
        let mut ack = Packet::ack_of(index, sender.incarnation(), 0);
        if flow.receiver.on_timer(due, params, &mut self.accounts.pool, &mut ack) {
            let back = flow.sends_back();
            self.send_ack(due, back, &mut ack);
        }
    }

    /// A host sends a packet at `at`.
    #[inline(always)]
    pub(crate) fn send(&mut self, at: Time, mut packet: Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        if let Some(transfer) = &mut flow.transfer {
            transfer.travels.sent += 1;
        }
        let route = if packet.has(flag::BACK) { flow.routes.back } else { flow.routes.forward };
        self.accounts.sends(at, &packet);
        if let Some(delivered) = self.network.send_in_place(at, route, &mut packet, &mut self.accounts) {
            self.on_delivery(delivered, &packet);
        }
    }

    /// An ACK arrives at its sender; most take the fast path, with nothing due before them.
    #[inline(never)]
    fn at_sender(&mut self, now: Time, ack: &Packet) {
        let flow = &mut self.flows[ack.flow as usize];
        let sender = match &mut flow.endpoint {
            Endpoint::Tcp(sender) if sender.takes_fast_path(now, ack) && flow.application.due() >= now => sender,
            _ => return self.at_sender_slow_path(now, ack),
        };
        self.accounts.gets(now, ack, 0, &AckOptions::default());
        if let Some(transfer) = &mut flow.transfer {
            transfer.travels.ack_arrives(now);
        }
        let mut call = call!(self, flow, now);
        let goes_on = sender.on_ack_fast_path(ack, &mut call);
        let (params, rtt_sample) = (call.params, call.rtt_sample);
        if let Some(end) = goes_on {
            sender.go_on_sending(end, &mut call!(self, flow, now));
        }
        self.accounts.shows_sender(now, ack.flow, sender, params);
        arm_sender(&mut self.network, ack.flow, sender.timer(), &mut sender.armed);
        self.after_ack(now, ack.flow, rtt_sample);
    }

    /// Handles an ACK of any kind, after all actions of its sender that are due before it.
    #[inline(never)]
    fn at_sender_slow_path(&mut self, now: Time, ack: &Packet) {
        let options = self.accounts.pool.take(ack.extra);
        let mut flow = &mut self.flows[ack.flow as usize];
        if flow.sender_due() < now {
            self.sender_until(now, ack.flow, false);
            flow = &mut self.flows[ack.flow as usize];
        }
        self.accounts.gets(now, ack, 0, &options);
        if let Some(transfer) = &mut flow.transfer {
            transfer.travels.ack_arrives(now);
        }
        let Endpoint::Tcp(sender) = &mut flow.endpoint else { return self.datagram_comes_back(now, ack) };
        debug_assert_eq!(ack.incarnation, sender.incarnation(), "a slot is taken again when no packet of it is in the network");
        let mut call = call!(self, flow, now);
        let progress = sender.on_ack(ack, &options, &mut call);
        let rtt_sample = call.rtt_sample;
        self.accounts.shows_sender(now, ack.flow, sender, &self.stacks[flow.stack as usize]);
        let due = sender.deadline().min(flow.application.due());
        arm_sender(&mut self.network, ack.flow, due, &mut sender.armed);
        self.after_ack(now, ack.flow, rtt_sample);
        if progress == Progress::Complete {
            self.complete(now, ack.flow);
        }
    }

    /// The actions that follow after a sender has processed an ACK of any kind.
    #[inline(always)]
    fn after_ack(&mut self, now: Time, index: u32, rtt_sample: Option<Duration>) {
        if let Some(rtt) = rtt_sample {
            self.accounts.observer.on_rtt(now, index, rtt.as_nanos());
            if now >= self.warmup {
                self.rtts[self.flows[index as usize].group as usize].add(rtt.as_nanos());
            }
        }
        if self.counts_flows {
            self.count_flow(now, index);
        }
    }

    /// A datagram returns to its sender.
    #[inline(never)]
    fn datagram_comes_back(&mut self, now: Time, packet: &Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        let Endpoint::Udp(datagrams) = &mut flow.endpoint else { return };
        if datagrams.foreign {
            return self.accounts.tell_foreign(now, packet, ForeignAction::Arrive);
        }
        let rtt = now.since(packet.stamp);
        if let Some(echo) = datagrams.echo.as_mut().filter(|_| now >= self.warmup) {
            echo.add(rtt.as_secs_f64());
            self.rtts[flow.group as usize].add(rtt.as_nanos());
        }
        self.accounts.observer.on_rtt(now, packet.flow, rtt.as_nanos());
    }

    /// Reports to links that count flows if this one became active or inactive at `at`.
    fn count_flow(&mut self, at: Time, index: u32) {
        let flow = &mut self.flows[index as usize];
        let Endpoint::Tcp(sender) = &flow.endpoint else { return };
        let active = sender.is_active();
        if std::mem::replace(&mut flow.counted, active) == active {
            return;
        }
        self.network.flow_changes(flow.routes.forward, at, active);
    }

    /// Ensures an event by the time the sending side is due.
    /// A timer that moves later keeps its event, which then finds nothing due.
    #[inline]
    pub(crate) fn arm_sender(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        arm_sender(&mut self.network, index, flow.sender_due(), flow.armed_mut());
    }

    pub(crate) fn sender_timer(&mut self, now: Time, index: u32) {
        let armed = self.flows[index as usize].armed_mut();
        if *armed != now {
            return;
        }
        *armed = Time::NEVER;
        self.after_start(index);
        self.sender_until(now, index, true);
        self.arm_sender(index);
    }

    /// Runs the actions of the sending side that are due before `now`, in order.
    /// With `inclusive` also those that are due at `now`. The caller then has to set its timer.
    fn sender_until(&mut self, now: Time, index: u32, inclusive: bool) {
        loop {
            let flow = &mut self.flows[index as usize];
            let due = flow.sender_due();
            if due > now || (due == now && !inclusive) || due == Time::NEVER {
                return;
            }
            let until = if inclusive { now + Duration::from_nanos(1) } else { now }.min(flow.application.due());
            let action = (flow.application.due() == due).then(|| flow.application.act());
            match &mut flow.endpoint {
                Endpoint::Udp(datagrams) if datagrams.foreign => self.foreign_writes(due, index, action),
                Endpoint::Udp(datagrams) => {
                    if let Some(Action::Write(Write { bytes: Some(size), .. })) = action {
                        datagrams.sent += size;
                        datagrams.counted += u64::from(due >= self.warmup);
                        let packet = Packet { seq: datagrams.sent - size, stamp: due, flow: index, size: size as u16, ..Packet::EMPTY };
                        self.send(due, packet);
                    }
                }
                Endpoint::Tcp(sender) => {
                    // An observer of senders sees each segment that pacing releases.
                    let until = if self.accounts.observer.watches_senders() { due } else { until };
                    let mut call = Call { until, ..call!(self, flow, due) };
                    match action {
                        None => sender.on_timer(&mut call),
                        Some(Action::Stop) => sender.stop(),
                        Some(Action::Write(Write { bytes, last, .. })) => sender.write(bytes, last, &mut call),
                    }
                    self.accounts.shows_sender(due, index, sender, &self.stacks[flow.stack as usize]);
                    if self.counts_flows {
                        self.count_flow(due, index);
                    }
                }
            }
        }
    }

    pub(crate) fn receiver_timer(&mut self, now: Time, index: u32) {
        let flow = &mut self.flows[index as usize];
        if flow.receiver.armed() != now {
            return;
        }
        flow.receiver.set_armed(Time::NEVER);
        if flow.receiver.deadline() == now {
            self.receiver_acts(index, now);
        }
        arm_receiver(&mut self.network, index, &mut self.flows[index as usize].receiver);
    }

    /// The application of a new connection writes all its data.
    pub(crate) fn write(&mut self, now: Time, index: u32, bytes: u64) {
        let flow = &mut self.flows[index as usize];
        let Endpoint::Tcp(sender) = &mut flow.endpoint else { return };
        sender.write(Some(bytes), true, &mut call!(self, flow, now));
        if self.counts_flows {
            self.count_flow(now, index);
        }
        self.arm_sender(index);
    }
}
