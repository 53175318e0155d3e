//! The report of a finished run on its flows.

use crate::flow::{Endpoint, FlowStats};
use crate::observer::Observer;
use crate::tcp::SenderStats;
use crate::world::World;
use sojourn_cc::Source;

/// One flow, or one slot of a session.
#[derive(Clone, Copy, Debug)]
pub struct FlowReport {
    /// The position of its entry in the configuration; the slots of a session share one.
    pub entry: u32,
    /// Its group.
    pub group: u32,
    /// The counters of its receiver.
    pub stats: FlowStats,
    /// Its packets that links dropped in the measurement window, data and ACKs.
    pub dropped: u64,
    /// The counters of its sender; all zero for datagrams.
    pub sender: SenderStats,
    /// Whether it is TCP.
    pub tcp: bool,
    /// The number of its completed connections.
    pub completed: u64,
    /// The congestion window at the end, in segments.
    pub cwnd: f64,
    /// The source of its controller's delays at the end, if it reads any.
    pub delay_source: Option<Source>,
}

impl<O: Observer> World<O> {
    /// Every flow, in order; the slots of sessions come after the flows of the configuration.
    pub fn flows(&self) -> impl Iterator<Item = FlowReport> + '_ {
        self.flows.iter().zip(self.accounts.drops.in_window()).map(|(flow, &dropped)| {
            let (sender, tcp, cwnd, delay_source) = match &flow.endpoint {
                Endpoint::Tcp(sender) => (*sender.stats(), true, sender.cwnd(), sender.delay_source()),
                Endpoint::Udp(datagrams) => {
                    let rtt = datagrams.echo.unwrap_or_default();
                    (SenderStats { sent: datagrams.counted, rtt, ..Default::default() }, false, 0.0, None)
                }
            };
            FlowReport {
                entry: flow.entry,
                group: flow.group,
                stats: flow.stats(),
                dropped,
                sender,
                tcp,
                completed: flow.transfer.as_ref().map_or(0, |transfer| transfer.completed),
                cwnd,
                delay_source,
            }
        })
    }
}
