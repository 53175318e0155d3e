//! What a link does when something follows on it: departures, its discipline's timer, samples and accounts.

use crate::link_config::{LinkStats, Measure};
use crate::packet::Packet;
use crate::router::Router;
use crate::trace::LinkTrace;
use sojourn_aqm::{Aqm, Backlog, Counters, PacketView, Qdisc, QueueController};
use sojourn_units::{Duration, Rate, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) name: String,
    pub(super) first_rate: Option<Rate>,
    pub(super) changes: VecDeque<(Time, Rate)>,
    pub(super) delays: VecDeque<(Time, Duration)>,
    /// When the last packet arrives at the other end, where the delay changes.
    pub(super) last_out: Time,
    pub(super) queue: Queue,
    /// When something that is timed is due: the discipline's timer or a change of the number of flows.
    pub(super) next_update: Time,
    /// When the discipline's timer is due.
    pub(super) law_due: Time,
    pub(super) last_arrival: Time,
    pub(super) window: (Time, Time),
    pub(super) before: Option<Counters>,
    pub(super) measure: Measure,
    pub(super) stats: LinkStats,
    pub(super) traces: Vec<LinkTrace>,
    /// When the next sample of any trace is due.
    pub(super) next_sample: Time,
    /// Bytes whose sending has begun.
    pub(super) begun: u64,
    /// When the last packet that had waited left the queue, and its size; 0 B before that.
    pub(super) left: (Time, u32),
    pub(super) lost: VecDeque<Packet>,
    /// Changes of the number of active flows that are yet to come: when, up or down. Only where the discipline counts flows.
    pub(super) flow_changes: BinaryHeap<Reverse<(Time, bool)>>,
    pub(super) active_flows: u32,
    pub(super) counts_flows: bool,
    /// What finds out from headers what the discipline asks for, where senders are not believed.
    pub(super) router: Option<Box<Router>>,
}

#[derive(Clone, Debug)]
pub(super) enum Queue {
    /// Departures foretold: when each waiting packet starts to be sent, and what the discipline may see of it.
    Foretold { controller: QueueController, waiting: VecDeque<Waiting>, bytes: u64, departures: bool },
    /// Packets kept.
    Kept { qdisc: Qdisc<Packet>, sending: Option<Packet> },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) start: Time,
    pub(super) since: Time,
    pub(super) size: u32,
    pub(super) flow: u32,
    pub(super) rtt_hint_ms: u16,
    pub(super) has_data: bool,
}

impl Waiting {
    /// What waits where no discipline sees it leave.
    pub(super) const UNSEEN: Waiting = Waiting { start: Time::ZERO, since: Time::ZERO, size: 0, flow: 0, rtt_hint_ms: 0, has_data: true };
}

impl Body {
    pub(super) fn idle_since(&self, now: Time, free_at: Time) -> Option<Time> {
        match &self.queue {
            Queue::Foretold { .. } => (free_at <= now).then_some(free_at),
            Queue::Kept { sending, .. } => sending.is_none().then_some(free_at),
        }
    }

    /// Does in order what follows by `now`; gives when something follows next.
    pub(super) fn catch_up(&mut self, now: Time, free_at: Time) -> Time {
        loop {
            let timer = self.next_update.min(self.next_sample);
            let head = self.leave_by(now.min(timer));
            if timer > now {
                let window = if self.before.is_none() { self.window.0 } else { Time::NEVER };
                return head.min(timer).min(window);
            } else if self.next_update <= self.next_sample {
                self.update(timer, free_at);
            } else {
                self.sample(timer);
            }
        }
    }

    /// Takes the samples due at `now`.
    pub(super) fn sample(&mut self, now: Time) {
        let (packets, bytes, probability) = match &self.queue {
            Queue::Foretold { controller, waiting, bytes, .. } => (waiting.len() as u32, *bytes, controller.aqm.probability()),
            Queue::Kept { qdisc, .. } => (qdisc.packets(), qdisc.bytes(), qdisc.aqm().probability()),
        };
        for trace in self.traces.iter_mut().filter(|trace| trace.next == now) {
            trace.sample(packets, bytes, probability.get(), self.begun);
        }
        self.next_sample = self.traces.iter().map(|trace| trace.next).min().unwrap_or(Time::NEVER);
    }

    /// Whatever starts to be sent by `now` leaves the queue, where departures are foretold; gives when the next will.
    #[inline]
    pub(super) fn leave_by(&mut self, now: Time) -> Time {
        let Queue::Foretold { controller, waiting, bytes, departures } = &mut self.queue else { return Time::NEVER };
        while let Some(head) = waiting.front() {
            let (start, size) = (head.start, head.size);
            if start > now {
                return start;
            }
            let gone = if *departures { Some(*head) } else { None };
            waiting.pop_front();
            self.left = (start, size);
            *bytes -= u64::from(size);
            self.begun += u64::from(size);
            if self.measure != Measure::Counts {
                self.stats.queue.shrink(start, waiting.len() as u64, *bytes);
            }
            if let Some(Waiting { since, flow, rtt_hint_ms, has_data, .. }) = gone {
                let backlog = Backlog { packets: waiting.len() as u32, bytes: *bytes, idle_since: None };
                let view = PacketView { now: start, size, flow, rtt_hint_ms, has_data };
                controller.decide_departure(&view, start.since(since), false, &backlog);
            }
        }
        Time::NEVER
    }

    /// What is timed: changes and counts of the number of flows, then the discipline's timer.
    pub(super) fn update(&mut self, due: Time, free_at: Time) {
        while let Some(&Reverse((at, active))) = self.flow_changes.peek()
            && at <= due
        {
            self.flow_changes.pop();
            self.active_flows = if active { self.active_flows + 1 } else { self.active_flows.saturating_sub(1) };
            self.tell_flows(at);
        }
        if let Some(router) = self.router.as_mut().filter(|router| router.due <= due) {
            self.active_flows = router.count();
            self.tell_flows(due);
        }
        if self.law_due <= due {
            self.step(due, free_at);
        }
        let next_change = self.flow_changes.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
        let next_count = self.router.as_ref().map_or(Time::NEVER, |router| router.due);
        self.next_update = self.law_due.min(next_change).min(next_count);
    }

    pub(super) fn tell_flows(&mut self, at: Time) {
        match &mut self.queue {
            Queue::Foretold { controller, .. } => controller.aqm.on_flows(at, self.active_flows),
            Queue::Kept { qdisc, .. } => qdisc.set_flows(at, self.active_flows),
        }
    }

    /// The discipline's timer.
    pub(super) fn step(&mut self, due: Time, free_at: Time) {
        let idle_since = self.idle_since(due, free_at);
        match &mut self.queue {
            Queue::Foretold { controller, waiting, bytes, .. } => {
                controller.aqm.on_update(due, &Backlog { packets: waiting.len() as u32, bytes: *bytes, idle_since });
                self.law_due = controller.aqm.update_interval().map_or(Time::NEVER, |interval| due + interval);
            }
            Queue::Kept { qdisc, .. } => {
                qdisc.update(due, idle_since);
                self.law_due = qdisc.next_update();
            }
        }
    }

    /// Accounts for a packet that is sent from `start` to `end` without waiting.
    #[inline(never)]
    pub(super) fn account_at_once(&mut self, start: Time, end: Time, size: u32) {
        self.begun += u64::from(size);
        self.account(start, start, end, size);
    }

    /// Accounts for a packet that arrived at `arrived` and is sent from `start` to `end`.
    #[inline(always)]
    pub(super) fn account(&mut self, arrived: Time, start: Time, end: Time, size: u32) {
        let (from, to) = self.window;
        if arrived < from || end > to {
            return self.account_in_part(arrived, start, end, size);
        }
        let (stats, wait) = (&mut self.stats, start.since(arrived));
        stats.wait.add(wait.as_secs_f64());
        if self.measure == Measure::All {
            stats.waits.add(wait.as_nanos());
        }
        stats.busy = stats.busy + end.since(start);
        stats.sent += 1;
        stats.sent_bytes += u64::from(size);
    }

    /// The same where the packet's stay reaches beyond the window.
    #[cold]
    pub(super) fn account_in_part(&mut self, arrived: Time, start: Time, end: Time, size: u32) {
        let (from, to) = self.window;
        if end <= from {
            return;
        }
        let stats = &mut self.stats;
        if arrived >= from && start <= to {
            let wait = start.since(arrived);
            stats.wait.add(wait.as_secs_f64());
            if self.measure == Measure::All {
                stats.waits.add(wait.as_nanos());
            }
        }
        stats.busy = stats.busy + end.min(to).since(start.max(from));
        if end <= to {
            stats.sent += 1;
            stats.sent_bytes += u64::from(size);
        }
    }
}
