//! A flow: an application and its two endpoints.

use crate::stats::Moments;
use crate::tcp::{Receiver, Sender};
use sojourn_traffic::Application;
use sojourn_units::Time;

/// The way of a flow's packets, shared by flows between the same hosts: where it begins in the world's table of hops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub forward: u32,
    pub back: u32,
    /// The least time from the sender to the receiver in ns, for the audit.
    pub least: u64,
}

/// One step of a route: over a link or a lane, or the end; each either at once or by an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop(u32);

/// Where a hop leads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Over {
    Link(usize),
    Lane(usize),
    End,
}

impl Hop {
    const EVENT: u32 = 1 << 31;
    const LANE: u32 = 1 << 30;
    const END: u32 = Self::LANE - 1;

    pub fn over(over: Over) -> Self {
        match over {
            Over::Link(link) => Hop(link as u32),
            Over::Lane(lane) => Hop(lane as u32 | Self::LANE),
            Over::End => Hop(Self::END),
        }
    }

    /// Where it leads.
    #[inline]
    pub fn leads(self) -> Over {
        if self.0 & Self::LANE != 0 {
            return Over::Lane((self.0 & Self::END) as usize);
        }
        match self.0 & Self::END {
            Self::END => Over::End,
            link => Over::Link(link as usize),
        }
    }

    #[inline]
    pub fn needs_event(self) -> bool {
        self.0 & Self::EVENT != 0
    }

    pub fn by_event(self) -> Self {
        Hop(self.0 | Self::EVENT)
    }

    #[inline]
    pub fn at_once(self) -> Self {
        Hop(self.0 & !Self::EVENT)
    }
}

/// What a flow measured within the window of statistics.
#[derive(Clone, Copy, Default, Debug)]
pub struct FlowStats {
    /// Bytes that became readable, in order.
    pub delivered: u64,
    /// Bytes on the wire that arrived, again or not.
    pub received: u64,
    /// Packets that arrived.
    pub packets: u64,
    /// Packets that arrived with a congestion mark.
    pub marked: u64,
    /// Datagrams sent.
    pub sent: u64,
}

/// The sending side.
#[derive(Clone, Debug)]
pub(crate) enum Endpoint {
    Tcp(Box<Sender>),
    /// `echo`: round trips in seconds where datagrams come back.
    Udp {
        sent: u64,
        armed: Option<Time>,
        echo: Option<Box<Moments>>,
    },
}

/// A flow, or a slot that a session's connections use in turn.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub route: Route,
    pub group: u32,
    pub stack: u32,
    pub endpoint: Endpoint,
    pub receiver: Receiver,
    pub application: Option<Box<Application>>,
    /// When the application wants to act next.
    pub application_due: Time,
    /// The session that it serves.
    pub session: Option<u32>,
    pub opened: Time,
    pub size: u64,
    /// A session's request: bytes of the connection that it opens when this one is complete; 0: none.
    pub then: u64,
    /// Connections completed within the window of statistics.
    pub completed: u64,
    pub stats: FlowStats,
    /// Whether links that count flows count it.
    pub counted: bool,
}

impl Flow {
    /// When the sending side wants to act next.
    #[inline]
    pub fn sender_due(&self) -> Time {
        match &self.endpoint {
            Endpoint::Tcp(sender) => sender.deadline().min(self.application_due),
            Endpoint::Udp { .. } => self.application_due,
        }
    }
}
