//! Queues under an algorithm that decides about their packets one at a time.

use super::discipline::{
    Arrival, ChangedSubqueue, Contents, Departure, Discipline, Loss, OwnQueues, QueueSetup, QueueState, Queues, RemovedPacket,
    WaitingPacket,
};
use crate::controller::ControllerOf;
use crate::{Aqm, Backlog, Counters, DropReason, Dropped, Fate, Packet, PacketView, SubqueueSample};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;
use sojourn_units::{Duration, Stream, Time};

/// Queues under the algorithm that decides about their packets.
#[derive(Clone, Debug)]
pub(crate) struct AqmDiscipline<A, Q> {
    controller: ControllerOf<A>,
    queues: Q,
}

/// The shortest interval of a timer: a plug-in's interval of zero must not stop the clock.
const SHORTEST_INTERVAL: Duration = Duration::from_nanos(1);

impl<A: OwnQueues> AqmDiscipline<A, ()> {
    /// The algorithm with its own queues.
    pub fn own<P: Packet>(mut controller: ControllerOf<A>) -> AqmDiscipline<A, A::Queues<P>> {
        let mut setup = QueueSetup::of(&mut controller);
        let queues = controller.aqm.queues(&mut setup);
        controller.limit = setup.limit;
        AqmDiscipline::new(controller, queues)
    }
}

impl<A: Aqm, Q> AqmDiscipline<A, Q> {
    /// The algorithm with these queues.
    pub fn new(controller: ControllerOf<A>, queues: Q) -> Self {
        AqmDiscipline { controller, queues }
    }

    /// The algorithm's decision about an arriving packet.
    #[inline(never)]
    fn ask<P: Packet>(&mut self, now: Time, packet: &P, backlog: &Backlog) -> Fate
    where
        Q: Queues<P, A>,
    {
        let (mut view, mut seen) = (PacketView::of(now, packet), *backlog);
        self.queues.show(packet, &mut view, &mut seen);
        let queues = &self.queues;
        let look = |position: u32| {
            let other = &queues.looked_into(packet)?.1.get(position as usize)?.1;
            let mut view = PacketView::of(now, other);
            queues.show(other, &mut view, &mut backlog.clone());
            Some(view.flow)
        };
        self.controller.decide_arrival(&view, packet.can_mark(), [backlog, &seen], look)
    }

    /// The subqueue with this index, if it is known.
    #[inline]
    fn changed<P: Packet>(&self, at: Option<usize>) -> Option<ChangedSubqueue>
    where
        Q: Queues<P, A>,
    {
        let at = at?;
        let (packets, bytes) = self.queues.subqueue_backlog(at);
        Some(ChangedSubqueue { at, packets, bytes })
    }

    /// Drops a waiting packet because of another one.
    #[cold]
    fn drop_at<P: Packet>(&mut self, state: &mut QueueState, place: WaitingPacket, reason: DropReason, lost: Loss<P>)
    where
        Q: Queues<P, A>,
    {
        let Some((since, packet)) = self.queues.remove(place.queue, place.at) else { return };
        self.drop_waiting(state, (place.queue, since, packet), reason, lost);
    }

    /// Drops a packet that was removed from this queue before its turn.
    /// It arrived at the time `since`.
    #[cold]
    fn drop_waiting<P: Packet>(&mut self, state: &mut QueueState, (queue, since, packet): (u32, Time, P), reason: DropReason, lost: Loss<P>)
    where
        Q: Queues<P, A>,
    {
        let size = packet.size();
        state.held.take(size);
        self.queues.leaves(&Departure { queue, size, at: None, is_earlier: state.earlier.add(since) }, Fate::Dropped(reason));
        self.controller.counters.count_drop(size, reason);
        lost(packet, reason);
    }
}

impl<P: Packet, A, Q> Discipline<P> for AqmDiscipline<A, Q>
where
    A: Aqm + Clone + Debug + Send + Sync + 'static,
    Q: Queues<P, A>,
{
    #[inline]
    fn enqueue(&mut self, state: &mut QueueState, arrival: Arrival<P>, lost: Loss<P>) {
        let Arrival { now, mut packet, idle_since, .. } = arrival;
        let size = packet.size();
        let (departure, redundant_ack) = (state.departure.take(), state.redundant_ack.take());
        let mut backlog = departure.map_or(state.backlog(idle_since), |size| state.backlog(idle_since).with_packet(size));
        if let Some(redundant_ack) = redundant_ack {
            backlog = backlog.without_packet(redundant_ack.size);
        }
        let admits = self.controller.admits_unasked(size, &backlog);
        let fate = if admits { Fate::Passed } else { self.ask(now, &packet, &backlog) };
        self.queues.arrives(&packet, fate);
        match fate {
            Fate::Dropped(reason) => {
                if let (Some(position), Some((queue, _))) = (self.controller.take_drawn(), self.queues.looked_into(&packet)) {
                    self.drop_at(state, WaitingPacket { queue, at: position as usize, size: 0 }, DropReason::Early, lost);
                }
                return lost(packet, reason);
            }
            Fate::Marked => {
                packet.mark();
                state.marked += 1;
            }
            Fate::Passed => {}
        }
        if let Some(redundant_ack) = redundant_ack {
            self.drop_at(state, redundant_ack, DropReason::AckFilter, lost);
        }
        state.held.add(size);
        self.queues.push(now, packet);
        // A packet that finds the link idle goes straight to it.
        if idle_since.is_none() || state.held.packets > 1 {
            let (one, more) = (u32::from(departure.is_some()), u64::from(departure.unwrap_or(0)));
            while let Some(dropped) = self.queues.make_room(state.held.packets + one, state.held.bytes + more) {
                let (queue, size) = (dropped.0, dropped.2.size());
                self.drop_waiting(state, dropped, DropReason::Tail, lost);
                self.controller.aqm.on_drop(Dropped::FromFull { queue, size, now });
            }
        }
        state.changed = self.changed(self.queues.last_joined());
    }

    #[inline]
    fn dequeue(&mut self, state: &mut QueueState, now: Time, lost: Loss<P>) -> Option<(P, Duration)> {
        loop {
            let RemovedPacket { since, mut packet, view, backlog, queue } = self.queues.pop(now, state, &mut self.controller.aqm)?;
            let (size, sojourn) = (view.size, now.since(since));
            let fate = self.controller.decide_departure(&view, sojourn, packet.can_mark(), &backlog);
            self.queues.leaves(&Departure { queue, size, at: Some(now), is_earlier: since < state.earlier.from }, fate);
            match fate {
                Fate::Passed => {}
                Fate::Marked => {
                    packet.mark();
                    state.marked += 1;
                }
                Fate::Dropped(reason) => {
                    state.earlier.add(since);
                    lost(packet, reason);
                    continue;
                }
            }
            state.departed += 1;
            state.changed = self.changed(self.queues.last_subqueue());
            return Some((packet, sojourn));
        }
    }

    fn update(&mut self, state: &mut QueueState, now: Time, idle_since: Option<Time>) {
        let aqm = &mut self.controller.aqm;
        while state.next_update <= now {
            self.queues.before_update(aqm);
            aqm.on_update(state.next_update, &state.backlog(idle_since));
            state.next_update = aqm.update_interval().map_or(Time::NEVER, |interval| state.next_update + interval.max(SHORTEST_INTERVAL));
        }
    }

    fn contents(&self) -> &dyn Contents<P> {
        &self.queues
    }

    fn contents_mut(&mut self) -> &mut dyn Contents<P> {
        &mut self.queues
    }

    fn counters(&self) -> &Counters {
        &self.controller.counters
    }

    #[cfg(test)]
    fn counters_mut(&mut self) -> &mut Counters {
        &mut self.controller.counters
    }

    fn aqm(&self) -> Option<&dyn Aqm> {
        Some(&self.controller.aqm)
    }

    fn samples(&self) -> Vec<SubqueueSample> {
        self.queues.samples(&self.controller.aqm)
    }

    fn set_flows(&mut self, now: Time, active: u32) {
        self.controller.aqm.on_flows(now, active);
    }

    fn stream(&self) -> Option<&Stream> {
        Some(self.controller.stream())
    }

    fn stream_mut(&mut self) -> Option<&mut Stream> {
        Some(self.controller.stream_mut())
    }

    fn boxed_clone(&self) -> Box<dyn Discipline<P>> {
        Box::new(self.clone())
    }
}
