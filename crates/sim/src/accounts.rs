//! Accounts of packets in the network and at hosts.
//! Each packet is reported to the observer, and drops are counted.

use crate::flow::Drops;
use crate::foreign::{ForeignAction, ForeignPacket, Outbox};
use crate::observer::{HostDoes, Observer};
use crate::packet::{Packet, flag};
use crate::tcp::{AckOptions, AckOptionsPool, Sender, TcpOptions};
use sojourn_net::{DropCause, LinkObserver, TcpOption};
use sojourn_units::Time;

/// The events of packets: sent, delivered, dropped and marked.
/// Each of these is reported to the observer.
#[derive(Clone, Debug)]
pub(crate) struct PacketAccounts<O> {
    pub observer: O,
    /// Options of ACKs in the network.
    pub pool: AckOptionsPool,
    pub drops: Drops,
    pub warmup: Time,
    /// The events of foreign flows; `None` if the world has none.
    pub foreign: Option<Box<Outbox>>,
}

impl<O: Observer> PacketAccounts<O> {
    /// A host sends a packet.
    #[inline(always)]
    pub fn sends(&mut self, now: Time, packet: &Packet) {
        self.observer.on_send(now, packet);
        if self.observer.watches_hosts() {
            self.observer.on_host(now, packet, HostDoes::Sends, &self.options(packet));
        }
    }

    /// A sender has processed an ACK, a timer or data of its application.
    #[inline(always)]
    pub fn shows_sender(&mut self, now: Time, flow: u32, sender: &Sender, options: &TcpOptions) {
        if self.observer.watches_senders() {
            self.observer.on_window(now, flow, sender.cwnd(), sender.ssthresh());
            self.observer.on_controller(now, flow, sender, options);
        }
    }

    /// The options of an ACK, beside its header; the ACK keeps them.
    fn options(&self, packet: &Packet) -> AckOptions {
        let stored = if packet.has(flag::BACK) { self.pool.get(packet.extra) } else { None };
        stored.copied().unwrap_or_default()
    }

    /// Reports a packet of a foreign flow to the caller.
    pub fn tell_foreign(&mut self, now: Time, packet: &Packet, action: fn(ForeignPacket) -> ForeignAction) {
        if let Some(outbox) = &mut self.foreign {
            outbox.push_packet(now, packet, action);
        }
    }

    /// A packet reaches its host, where `bytes` become readable; `options` are those of an ACK.
    #[inline(always)]
    pub fn gets(&mut self, now: Time, packet: &Packet, bytes: u64, options: &AckOptions) {
        self.observer.on_deliver(now, packet, bytes);
        if self.observer.watches_hosts() {
            self.observer.on_host(now, packet, HostDoes::Gets, options);
        }
    }
}

impl<O: Observer> LinkObserver<Packet> for PacketAccounts<O> {
    fn on_drop(&mut self, now: Time, link: u32, cause: DropCause, packet: Packet) {
        self.drops.add(now, packet.flow, now >= self.warmup);
        if packet.has(flag::BACK) {
            self.pool.take(packet.extra);
        }
        self.tell_foreign(now, &packet, ForeignAction::Drop);
        self.observer.on_drop(now, link, cause, &packet);
    }

    fn on_duplicate(&mut self, now: Time, _: u32, packet: &Packet) -> Option<Packet> {
        self.drops.add_copy(packet.flow);
        self.tell_foreign(now, packet, ForeignAction::Duplicate);
        // An ACK owns its options, and so does its copy.
        let extra = if packet.has(flag::BACK) { self.pool.copy(packet.extra) } else { packet.extra };
        Some(Packet { extra, ..*packet })
    }

    fn ack_header(&self, packet: &Packet) -> Option<sojourn_net::AckHeader> {
        let mut header = packet.ack_header()?;
        let options = self.options(packet);
        // An option that a filter does not know may carry news (Linux `cake_tcph_may_drop`).
        header.is_pure &= options.byte_counts.is_none();
        if let Some(sack) = options.sack {
            (header.sack, header.blocks) = sack.headers();
        }
        Some(header)
    }

    fn has_option(&self, packet: &Packet, option: TcpOption) -> bool {
        match option {
            TcpOption::AccEcn if !packet.has(flag::BACK) => packet.has(flag::ACCECN),
            TcpOption::AccEcn => self.options(packet).byte_counts.is_some(),
            TcpOption::Sack => self.options(packet).sack.is_some(),
        }
    }

    fn strip(&mut self, packet: &mut Packet, option: TcpOption) {
        if !packet.has(flag::BACK) {
            packet.flags &= !flag::ACCECN;
        } else if let Some(options) = self.pool.get_mut(packet.extra) {
            match option {
                TcpOption::AccEcn => options.byte_counts = None,
                TcpOption::Sack => options.sack = None,
            }
        }
    }

    fn on_arrival(&mut self, now: Time, link: u32, packet: &Packet) {
        self.observer.on_arrival(now, link, packet, &self.options(packet));
    }

    fn on_departure(&mut self, now: Time, link: u32, packet: &Packet) {
        self.observer.on_departure(now, link, packet);
    }

    #[inline]
    fn on_mark(&mut self, now: Time, link: u32, flow: u32) {
        self.observer.on_mark(now, link, flow);
    }
}
