//! The disciplines: a file for each kind of container.

pub(crate) mod cake;
pub(crate) mod classes;
pub(crate) mod discipline;
pub(crate) mod dual;
pub(crate) mod fifo;
pub(crate) mod flows;
pub(crate) mod host;
pub(crate) mod qdisc;

use crate::queuing::NO_LIMIT;
use crate::{Amount, DualFilter, Fills, Packet, QueueController};
use alloc::boxed::Box;
use alloc::vec::Vec;
use cake::CakeQueues;
use classes::Classes;
use discipline::{Arrival, Contents, Desk, Loss};
use dual::DualQueues;
use fifo::Fifo;
use flows::FlowQueues;
use host::HostQueues;
use sojourn_units::{Duration, Time};

/// What the queues of an algorithm are made with.
#[derive(Clone, Debug)]
pub struct Given {
    /// The limit of its queue. A discipline that makes room itself takes it ([`Given::take_limit`]).
    pub limit: Amount,
    /// The DSCP of each group of flows.
    pub dscps: Vec<u8>,
    /// What packets a dual queue knows by other fields than ECN.
    pub filters: Vec<DualFilter>,
}

impl Given {
    pub(crate) fn of(controller: &mut QueueController) -> Self {
        let (dscps, filters) = (core::mem::take(&mut controller.dscps), core::mem::take(&mut controller.filters));
        Given { limit: controller.limit, dscps, filters }
    }

    /// The limit, which no arriving packet is then refused for.
    pub fn take_limit(&mut self) -> Amount {
        core::mem::replace(&mut self.limit, NO_LIMIT)
    }
}

/// Any discipline. Which it is stands in a byte of its own, and not among what a `VecDeque` can't be: it is asked several times for each
/// packet.
#[derive(Clone, Debug)]
#[repr(u8)]
#[allow(private_interfaces, reason = "a packet's way goes through these without a jump")]
pub enum AnyDiscipline<P> {
    /// First in, first out.
    Fifo(Fifo<P>),
    /// A queue for each flow.
    Flows(Box<FlowQueues<P>>),
    /// Two queues, one of them for scalable senders.
    Dual(Box<DualQueues<P>>),
    /// The queues of CAKE.
    Cake(Box<CakeQueues<P>>),
    /// A queue of the host.
    Host(Box<HostQueues<P>>),
    /// Classes.
    Classes(Box<Classes<P>>),
}

impl<P: Packet> AnyDiscipline<P> {
    /// Empty queues of this kind.
    pub(crate) fn new(fills: Fills, given: &mut Given) -> Self {
        match fills {
            Fills::OneQueue => AnyDiscipline::Fifo(Fifo::default()),
            Fills::FlowQueues(queuing) => AnyDiscipline::Flows(Box::new(FlowQueues::new(queuing, given))),
            Fills::DualQueues(queuing) => AnyDiscipline::Dual(Box::new(DualQueues::new(queuing, given))),
            Fills::CakeQueues(queuing) => AnyDiscipline::Cake(Box::new(CakeQueues::new(queuing, given))),
        }
    }

    /// It, for what is not asked for each packet.
    pub(crate) fn get(&self) -> &dyn Contents<P> {
        match self {
            AnyDiscipline::Fifo(discipline) => discipline,
            AnyDiscipline::Flows(discipline) => &**discipline,
            AnyDiscipline::Dual(discipline) => &**discipline,
            AnyDiscipline::Cake(discipline) => &**discipline,
            AnyDiscipline::Host(discipline) => &**discipline,
            AnyDiscipline::Classes(discipline) => &**discipline,
        }
    }

    /// The same, to change it.
    pub(crate) fn get_mut(&mut self) -> &mut dyn Contents<P> {
        match self {
            AnyDiscipline::Fifo(discipline) => discipline,
            AnyDiscipline::Flows(discipline) => &mut **discipline,
            AnyDiscipline::Dual(discipline) => &mut **discipline,
            AnyDiscipline::Cake(discipline) => &mut **discipline,
            AnyDiscipline::Host(discipline) => &mut **discipline,
            AnyDiscipline::Classes(discipline) => &mut **discipline,
        }
    }

    #[inline]
    pub(crate) fn enqueue(&mut self, desk: &mut Desk, arrival: Arrival<P>, lost: Loss<P>) {
        match self {
            AnyDiscipline::Fifo(queues) => desk.enqueue(queues, arrival, lost),
            AnyDiscipline::Flows(queues) => desk.enqueue(&mut **queues, arrival, lost),
            AnyDiscipline::Dual(queues) => desk.enqueue(&mut **queues, arrival, lost),
            AnyDiscipline::Cake(queues) => desk.enqueue(&mut **queues, arrival, lost),
            AnyDiscipline::Host(queues) => queues.enqueue(desk, arrival, lost),
            AnyDiscipline::Classes(classes) => classes.enqueue(desk, arrival, lost),
        }
    }

    #[inline]
    pub(crate) fn dequeue(&mut self, desk: &mut Desk, now: Time, lost: Loss<P>) -> Option<(P, Duration)> {
        match self {
            AnyDiscipline::Fifo(queues) => desk.dequeue(queues, now, lost),
            AnyDiscipline::Flows(queues) => desk.dequeue(&mut **queues, now, lost),
            AnyDiscipline::Dual(queues) => desk.dequeue(&mut **queues, now, lost),
            AnyDiscipline::Cake(queues) => desk.dequeue(&mut **queues, now, lost),
            AnyDiscipline::Host(queues) => queues.dequeue(desk, now, lost),
            AnyDiscipline::Classes(classes) => classes.dequeue(desk, now, lost),
        }
    }

    /// See [`Contents::subqueue_backlog`].
    #[inline(always)]
    pub(crate) fn subqueue_backlog(&self, at: usize) -> (u32, u64) {
        if let AnyDiscipline::Dual(queues) = self { queues.subqueue_backlog(at) } else { self.get().subqueue_backlog(at) }
    }

    /// See [`Contents::last_subqueue`].
    #[inline(always)]
    pub(crate) fn last_subqueue(&self) -> Option<usize> {
        if let AnyDiscipline::Dual(queues) = self { queues.last_subqueue() } else { self.get().last_subqueue() }
    }

    /// See [`Contents::last_joined`].
    #[inline(always)]
    pub(crate) fn last_joined(&self) -> Option<usize> {
        if let AnyDiscipline::Dual(queues) = self { queues.last_joined() } else { None }
    }
}
