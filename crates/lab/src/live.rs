//! A run with the packets of others, at the times at which they come.

use crate::Error;
use crate::capture::{Capture, KernelHosts};
use crate::captured::{CapturePoints, begin};
use crate::hosted::Hosted;
use crate::kernel::wiring;
use crate::simulation::Outcome;
use sojourn_capture::pcapng::Writer;
use sojourn_linux::{CopyPacket, Entry, Logged, Packet, Settled, Wiring};
use sojourn_net::Link;
use sojourn_scenario::plan::Plan;
use sojourn_units::Time;
use std::collections::HashMap;
use std::io::Write;

/// Packets after which a capture is written.
const WRITTEN_TOGETHER: u32 = 1024;

/// A capture of a run: its points, and the file.
pub type LiveCapture = (CapturePoints, Box<dyn Write + Send>);

/// The path of a flow of the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LivePath {
    /// Its group.
    pub group: u32,
    /// The host that sends its data.
    pub source: u32,
    /// The host that receives its data.
    pub destination: u32,
    /// Whether packets can travel back.
    pub returns: bool,
    /// Whether its receiver returns every packet.
    pub echoes: bool,
    /// Whether it is over TCP.
    pub tcp: bool,
}

/// The names of a plan's hosts, in the order of their numbers.
/// They are those of nodes; a host of a flow's own link is called as in `ftp/0:sender`.
///
/// # Errors
/// A setting that real hosts do not support.
pub fn live_hosts(plan: &Plan) -> Result<Vec<String>, Error> {
    let wiring = wiring(plan)?;
    let mut names = HashMap::new();
    for (flow, planned) in wiring.flows.iter().zip(&plan.flows) {
        let node = |link: Option<&u32>, starts: bool| link.map(|&link| if starts { plan.link(link).from } else { plan.link(link).to });
        let ends = [
            (node(planned.forward.first(), true), flow.source, "sender"),
            (node(planned.forward.last(), false), flow.destination, "receiver"),
        ];
        for (node, host, side) in ends {
            let named = node.and_then(|node| plan.nodes.get(node as usize).cloned());
            names.entry(host).or_insert_with(|| named.unwrap_or_else(|| format!("{}:{side}", flow.name)));
        }
    }
    Ok((0..wiring.hosts).map(|host| names.remove(&host).unwrap_or_default()).collect())
}

/// A run in progress.
/// Its caller sends packets, and delivers those that have left the network.
pub struct LiveRun<'a> {
    plan: &'a Plan,
    wiring: Wiring,
    hosted: Hosted<'a>,
    writer: Option<Writer<Box<dyn Write + Send>>>,
    unwritten: u32,
}

impl<'a> LiveRun<'a> {
    /// The run at time 0.
    /// Each flow of the plan has `share` flows of the network, one for each connection at a time: flow `n` of the network belongs to flow `n / share` of the plan.
    ///
    /// # Errors
    /// A setting that real hosts do not support, an unknown capture point, and errors of writing.
    pub fn new(plan: &'a Plan, share: u32, capture: Option<LiveCapture>) -> Result<Self, Error> {
        let wiring = wiring(plan)?;
        let flows = wiring.flows.iter().flat_map(|flow| std::iter::repeat_n(flow.clone(), share as usize)).collect();
        let mut refuse = |_: &_| Err("expected the simulator's queue".to_string());
        let mut hosted = Hosted::new(plan, &Wiring { flows, ..wiring.clone() }, share, &mut refuse)?;
        let writer = match capture {
            None => None,
            Some((points, out)) => {
                let places = points.resolve(plan)?;
                hosted.capture = Some(Capture::new(KernelHosts, &places, |link| hosted.network.watch(link)));
                Some(begin(plan, &places, "live", out)?)
            }
        };
        Ok(LiveRun { plan, wiring, hosted, writer, unwritten: 0 })
    }

    /// The plan.
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// The paths of the plan's flows.
    pub fn paths(&self) -> impl Iterator<Item = LivePath> + '_ {
        self.wiring.flows.iter().map(|flow| LivePath {
            group: flow.group,
            source: flow.source,
            destination: flow.destination,
            returns: !flow.back.is_empty(),
            echoes: flow.traffic.echoes(),
            tcp: flow.tcp.is_some(),
        })
    }

    /// Whether packets need their headers.
    pub fn keeps_headers(&self) -> bool {
        self.wiring.headers || self.writer.is_some()
    }

    /// Sets the function that copies packets for duplicates.
    pub fn set_copies(&mut self, copy: CopyPacket) {
        self.hosted.network.set_copies(copy);
    }

    /// Sets the hash of a flow of the network, by which queues and routers find its state.
    pub fn set_hash(&mut self, flow: u32, hash: u64) {
        self.hosted.network.set_hash(flow, hash);
    }

    /// The links that measure.
    pub fn links_mut(&mut self) -> &mut [Link<Packet>] {
        self.hosted.network.links_mut()
    }

    /// Sends a packet. A time before the last call counts as the last call's.
    pub fn send(&mut self, at: Time, packet: Packet) {
        self.note(at, Entry::Sent(packet));
        self.hosted.send(at, packet);
    }

    /// Counts an action of a host other than sending.
    pub fn note(&mut self, at: Time, entry: Entry) {
        self.hosted.accounts.add(&Logged { at, entry });
    }

    /// Executes what is due by `now`, and passes on each packet that leaves the network.
    ///
    /// # Errors
    /// The capture can't be written.
    pub fn advance(&mut self, now: Time, each: &mut dyn FnMut(&Settled)) -> Result<(), Error> {
        self.hosted.network.advance(now);
        let mut settled = 0;
        self.hosted.settle(&mut |packet| {
            settled += 1;
            each(packet);
        });
        self.unwritten += settled;
        if self.unwritten < WRITTEN_TOGETHER {
            return Ok(());
        }
        self.unwritten = 0;
        self.write(false)
    }

    fn write(&mut self, end: bool) -> Result<(), Error> {
        let (plan, Some(writer)) = (self.plan, &mut self.writer) else { return Ok(()) };
        self.hosted.write(end, &mut |capture, until, end| Ok(capture.write(plan, until, end, writer)?))
    }

    /// The time of the next event; `None` if none is scheduled.
    pub fn next_event(&mut self) -> Option<Time> {
        self.hosted.network.next_event()
    }

    /// Ends the run, at `end` or at its planned end if that is earlier, and returns the outcome.
    /// Before its planned end, every packet must have left the network.
    ///
    /// # Errors
    /// The statistics have not begun, the audit fails, or the capture can't be written.
    pub fn finish(mut self, end: Time) -> Result<Outcome, Error> {
        let (plan, mut writer) = (self.plan, self.writer.take());
        if end <= plan.warmup {
            let (ended, warmup) = (end.since(Time::ZERO), plan.warmup.since(Time::ZERO));
            return Err(Error::Endless(format!("warmup: expected a run longer than {warmup}, got an end after {ended}")));
        }
        if end < plan.duration {
            self.hosted.end_at(end);
        }
        let outcome = self.hosted.finish(&mut |capture, until, end| match &mut writer {
            Some(writer) => Ok(capture.write(plan, until, end, writer)?),
            None => Ok(()),
        })?;
        if let Some(writer) = writer {
            writer.finish()?;
        }
        Ok(outcome)
    }
}
