//! The router: real packets, and the network of a plan between their hosts.

use crate::addresses::host_of;
use crate::counts::{Completed, Counts, SenderState};
use crate::snapshot::{GroupState, LinkState, Snapshot};
use crate::store::{Store, copy};
use crate::table::{Key, Place, Table};
use crate::tracker::Tracker;
use crate::wire::{Parsed, Transport, parse, set_ce};
use sojourn_lab::{Error, LiveCapture, LiveRun, Outcome};
use sojourn_linux::{Entry, Fate, Header, Packet, Settled, flag};
use sojourn_scenario::plan::Plan;
use sojourn_units::{Duration, Time};
use std::collections::VecDeque;

/// The most flows of the network, and the most for one flow of the plan.
const MOST_FLOWS: u32 = 1 << 16;
const MOST_SHARE: u32 = 256;

/// How the destination of a packet is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switch {
    /// By its address: each host has its own.
    Addresses,
    /// A frame of Ethernet of one of two hosts goes to the other. Frames without IP pass at once.
    Pair,
}

/// What is kept of a packet while it is in the network.
#[derive(Clone, Copy, Default, Debug)]
struct About {
    destination: u32,
    /// Where its IP header begins.
    skipped: usize,
    /// Whether it was marked when it came.
    marked: bool,
    answer: Answer,
}

/// What a packet answers.
#[derive(Clone, Copy, Default, Debug)]
enum Answer {
    #[default]
    Nothing,
    /// It acknowledges data of this flow up to a byte.
    Ack(u32, u32),
    /// It is a reply to this request of a flow.
    Reply(u32, u16),
    /// It is a datagram: its receiver reads its payload.
    Datagram,
}

/// A packet at its destination.
#[derive(Clone, Copy, Debug)]
pub struct Leaving<'a> {
    /// The time at which it leaves the network.
    pub due: Time,
    /// Its host.
    pub host: u32,
    /// Its bytes, marked if a queue marked it.
    pub bytes: &'a [u8],
}

/// The bytes before the IP header in a frame of Ethernet, with VLAN tags; `None` if it has no IP.
fn frame_header(frame: &[u8]) -> Option<usize> {
    let mut at = 12;
    loop {
        match *frame.get(at..at + 2)? {
            [0x81, 0x00] | [0x88, 0xa8] => at += 4,
            [0x08, 0x00] | [0x86, 0xdd] => return Some(at + 2),
            _ => return None,
        }
    }
}

/// A datagram of ping traffic as an echo. Its payload begins with its number, which its receiver returns.
fn echo(parsed: &Parsed, bytes: &[u8], back: bool) -> Option<Transport> {
    let payload = usize::from(parsed.size - parsed.payload);
    let number = bytes.get(payload..payload + 2).filter(|_| parsed.payload >= 2)?;
    Some(Transport::Echo { reply: back, number: u16::from_be_bytes([number[0], number[1]]) })
}

/// Real packets through the network of a plan.
pub struct Router<'a> {
    run: LiveRun<'a>,
    switch: Switch,
    share: u32,
    table: Table,
    trackers: Vec<Tracker>,
    store: Store<About>,
    settled: VecDeque<Settled>,
    marked: Vec<u8>,
    /// Frames without IP, which pass at once, with the number of their destination.
    passing: VecDeque<(u32, Vec<u8>)>,
    groups: Vec<GroupState>,
    counts: Counts,
}

impl<'a> Router<'a> {
    /// The router of a plan at time 0.
    /// If the caller sends the plan's flows, `own_port` is the port of the receiver of the first, and the others have those after it.
    ///
    /// # Errors
    /// A setting that real hosts do not support, an unknown capture point, or a capture that can't be written.
    pub fn new(plan: &'a Plan, switch: Switch, own_port: Option<u16>, capture: Option<LiveCapture>) -> Result<Self, Error> {
        let share = (MOST_FLOWS / (plan.flows.len() as u32).max(1)).clamp(1, MOST_SHARE);
        let mut run = LiveRun::new(plan, share, capture)?;
        run.set_copies(copy);
        let (table, trackers) = (Table::new(&run, share, own_port), vec![Tracker::default(); plan.flows.len() * share as usize]);
        let groups = plan.groups.iter().map(|group| GroupState::new(&group.name)).collect();
        Ok(Router {
            run,
            switch,
            share,
            table,
            trackers,
            store: Store::default(),
            settled: VecDeque::new(),
            marked: Vec::new(),
            passing: VecDeque::new(),
            groups,
            counts: Counts::default(),
        })
    }

    /// A host sends a packet at `now`, a time not before that of the last call.
    /// Packets that can't be read or have no destination are counted and dropped.
    pub fn offer(&mut self, now: Time, host: u32, bytes: &[u8]) {
        let other = 1 - host.min(1);
        let skipped = match self.switch {
            Switch::Addresses => Some(0),
            Switch::Pair => frame_header(bytes),
        };
        let Some(skipped) = skipped else {
            self.passing.push_back((other, bytes.to_vec()));
            return;
        };
        let Some(parsed) = bytes.get(skipped..).and_then(parse) else {
            self.counts.malformed += 1;
            return;
        };
        let destination = match self.switch {
            Switch::Addresses => host_of(parsed.destination).filter(|&found| found != host),
            Switch::Pair => Some(other),
        };
        let Some(destination) = destination else {
            self.counts.strayed += 1;
            return;
        };
        let place = self.table.place(now, [host, destination], &parsed);
        let Some(place) = place.filter(|place| !place.back || self.table.path(place.flow).returns) else {
            self.counts.unconnected += 1;
            return;
        };
        if let Some(hash) = place.fresh {
            self.run.set_hash(place.flow, hash);
            self.trackers[place.flow as usize] = Tracker::default();
        }
        let mut packet = Packet { flow: place.flow, ..parsed.packet() };
        packet.flags |= if place.back { flag::BACK } else { 0 };
        let answer = self.follow(now, &place, (&parsed, &bytes[skipped..]), &mut packet);
        if self.run.keeps_headers() {
            packet.header = Header::new(&bytes[skipped..]);
        }
        let about = About { destination, skipped, marked: packet.has(flag::CE), answer };
        packet.handle = self.store.add(&bytes[..skipped + usize::from(parsed.size)], about);
        self.run.send(now, packet);
    }

    /// Follows a connection: marks retransmissions, and returns what the packet answers.
    fn follow(&mut self, now: Time, place: &Place, (parsed, bytes): (&Parsed, &[u8]), packet: &mut Packet) -> Answer {
        let tracker = &mut self.trackers[place.flow as usize];
        let echoes = self.table.path(place.flow).echoes && parsed.transport == Transport::Other;
        let transport = echoes.then(|| echo(parsed, bytes, place.back)).flatten().unwrap_or(parsed.transport);
        match transport {
            Transport::Tcp { seq, ack, .. } => {
                if parsed.payload > 0 && !place.back && tracker.on_data(now, seq, parsed.payload) {
                    packet.flags |= flag::AGAIN;
                }
                let answered = if place.back { Some(place.flow) } else { self.table.flow_of(Key::of(parsed).reversed()) };
                let (Some(flow), Some(number)) = (answered, ack) else { return Answer::Nothing };
                self.read(now, flow, |tracker| tracker.on_ack_sent(number));
                Answer::Ack(flow, number)
            }
            Transport::Echo { reply: false, number } if !place.back => {
                tracker.on_request(now, number);
                Answer::Datagram
            }
            Transport::Echo { reply: true, number } if place.back => Answer::Reply(place.flow, number),
            _ if place.back => Answer::Nothing,
            _ => Answer::Datagram,
        }
    }

    /// Counts the bytes that the receiver of a flow can read more.
    fn read(&mut self, now: Time, flow: u32, more: impl FnOnce(&mut Tracker) -> u64) {
        let bytes = more(&mut self.trackers[flow as usize]);
        if bytes > 0 {
            self.run.note(now, Entry::Read { flow, bytes });
            self.group(flow).goodput_bytes += bytes;
        }
    }

    fn group(&mut self, flow: u32) -> &mut GroupState {
        let planned = &self.run.plan().flows[(flow / self.share) as usize];
        &mut self.groups[planned.group as usize]
    }

    /// Executes what is due by `now`, and passes on each packet that has reached its host.
    /// `deliver` returns whether the host accepted it.
    ///
    /// # Errors
    /// The capture can't be written.
    pub fn advance(&mut self, now: Time, deliver: &mut dyn FnMut(Leaving<'_>) -> bool) -> Result<(), Error> {
        while let Some((host, bytes)) = self.passing.pop_front() {
            self.counts.refused += u64::from(!deliver(Leaving { due: now, host, bytes: &bytes }));
        }
        let settled = &mut self.settled;
        self.run.advance(now, &mut |packet| settled.push_back(*packet))?;
        self.store.count_copies();
        while let Some(settled) = self.settled.pop_front() {
            let handle = settled.packet.handle;
            match settled.fate {
                Fate::Dropped => self.group(settled.packet.flow).dropped += 1,
                Fate::Delivered => {
                    self.counts.refused += u64::from(!deliver(self.leaving(&settled)));
                    self.answer(&settled);
                }
            }
            self.store.release(handle);
        }
        Ok(())
    }

    /// A packet with the mark of the queues.
    fn leaving(&mut self, settled: &Settled) -> Leaving<'_> {
        let about: About = self.store.about(settled.packet.handle);
        let mut bytes = self.store.bytes(settled.packet.handle);
        if settled.packet.has(flag::CE) && !about.marked {
            // A copy of the packet may be in the network without the mark.
            self.marked.clear();
            self.marked.extend_from_slice(bytes);
            set_ce(&mut self.marked[about.skipped..]);
            bytes = &self.marked;
        }
        Leaving { due: settled.at, host: about.destination, bytes }
    }

    /// Counts a packet that has reached its host, and what it tells of its connection.
    fn answer(&mut self, settled: &Settled) {
        let (at, packet) = (settled.at, settled.packet);
        let marked = u64::from(packet.has(flag::CE));
        let group = self.group(packet.flow);
        group.marked += marked;
        if !packet.has(flag::BACK) {
            group.bytes += u64::from(packet.size);
        }
        let (flow, rtt) = match self.store.about(packet.handle).answer {
            Answer::Nothing => return,
            // As in the simulator, a datagram counts with its headers.
            Answer::Datagram => return self.read(at, packet.flow, |_| u64::from(packet.size)),
            Answer::Ack(flow, number) => (flow, self.trackers[flow as usize].on_ack_received(at, number)),
            Answer::Reply(flow, number) => (flow, self.trackers[flow as usize].on_reply(at, number)),
        };
        if let Some(rtt) = rtt {
            self.run.note(at, Entry::Rtt { flow, rtt });
            self.group(flow).add_rtt(rtt);
        }
    }

    /// The time of the next event; `None` if none is scheduled.
    pub fn next_event(&mut self) -> Option<Time> {
        self.run.next_event()
    }

    /// Records what the sender of a planned flow reports.
    pub fn note_sender(&mut self, now: Time, planned: u32, state: &SenderState) {
        if planned as usize >= self.run.plan().flows.len() {
            return;
        }
        let flow = planned * self.share;
        self.run.note(now, Entry::Window { flow, cwnd: state.cwnd, ssthresh: state.ssthresh });
        for _ in 0..state.recoveries {
            self.run.note(now, Entry::Recovery { flow });
        }
        for _ in 0..state.timeouts {
            self.run.note(now, Entry::Timeout { flow });
        }
    }

    /// Records a completed connection of a planned flow.
    pub fn note_completed(&mut self, planned: u32, connection: &Completed) {
        if (planned as usize) < self.run.plan().flows.len() {
            let entry = Entry::Completed { flow: planned * self.share, opened: connection.opened, bytes: connection.bytes };
            self.run.note(connection.closed, entry);
        }
    }

    /// Counters of packets that did not enter the network.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The state of links and groups at `now`. Round-trip times are those since the last call.
    pub fn snapshot(&mut self, now: Time) -> Snapshot {
        let links = self.run.links_mut().iter_mut().filter(|link| link.rate().is_some());
        let links = links.map(|link| LinkState::of(link, now)).collect();
        let groups = self.groups.clone();
        self.groups.iter_mut().for_each(GroupState::forget_rtts);
        Snapshot { at: now, links, groups, counts: self.counts }
    }

    /// Ends the run at `now`, or at its planned end if that is earlier, and returns the outcome.
    /// Before its planned end, the packets in the network travel to their ends first.
    ///
    /// # Errors
    /// The statistics have not begun, the audit fails, or the capture can't be written.
    pub fn finish(mut self, now: Time) -> Result<Outcome, Error> {
        let (planned, mut end) = (self.run.plan().duration, now);
        while end < planned && self.store.len() > 0 {
            let Some(next) = self.next_event() else { break };
            end = end.max(next);
            self.advance(end, &mut |_| true)?;
        }
        self.run.finish((end + Duration::from_nanos(1)).min(planned))
    }
}

#[cfg(test)]
mod tests;
