//! A network between hosts that act by themselves, with the accounts of their actions.

use crate::Error;
use crate::accounts::Accounts;
use crate::build::start_traces;
use crate::capture::{Capture, KernelHosts};
use crate::report::{Finished, report};
use crate::simulation::Outcome;
use sojourn_linux::{Fate, KernelNetwork, LinkAction, LinkEvent, MakeQueue, Packet, Settled, Wiring};
use sojourn_scenario::plan::Plan;
use sojourn_sim::{DropCause, HostDoes};
use sojourn_units::Time;

/// Writes the packets that were captured until a time. The flag is true at the end.
pub(crate) type WriteCaptured<'a> = dyn FnMut(&mut Capture<KernelHosts>, Time, bool) -> Result<(), Error> + 'a;

/// The network of a plan, its accounts and its capture.
pub(crate) struct Hosted<'a> {
    plan: &'a Plan,
    pub network: KernelNetwork,
    pub accounts: Accounts<'a>,
    pub capture: Option<Capture<KernelHosts>>,
}

impl<'a> Hosted<'a> {
    /// The network at time 0. `share` is the number of its flows for each flow of the plan.
    ///
    /// # Errors
    /// A parameter is out of range for its link.
    pub fn new(plan: &'a Plan, wiring: &Wiring, share: u32, make: &mut MakeQueue<'_>) -> Result<Self, Error> {
        let mut network = KernelNetwork::new(wiring, make).map_err(Error::Build)?;
        start_traces(plan, network.links_mut());
        if !plan.trace.signals.is_empty() {
            network.tell_signals();
        }
        Ok(Hosted { plan, network, accounts: Accounts::new(plan, share), capture: None })
    }

    /// A host sends a packet.
    pub fn send(&mut self, at: Time, packet: Packet) {
        self.capture_at_host(at, packet, HostDoes::Sends);
        self.network.send(at, packet);
    }

    fn capture_at_host(&mut self, at: Time, packet: Packet, does: HostDoes) {
        if let Some(capture) = &mut self.capture {
            capture.on_host(at, Packet { flow: self.accounts.entry(packet.flow), ..packet }, does);
        }
    }

    /// Processes the network's actions, and passes on each packet that has left the network.
    pub fn settle(&mut self, each: &mut dyn FnMut(&Settled)) {
        while let Some(settled) = self.network.settled() {
            self.accounts.settle(&settled);
            if settled.fate == Fate::Delivered {
                self.capture_at_host(settled.at, settled.packet, HostDoes::Gets);
            }
            each(&settled);
        }
        while let Some(event) = self.network.next_link_event() {
            self.accounts.on_link_event(&event);
            let Some(capture) = &mut self.capture else { continue };
            let LinkEvent { at, link, action } = event;
            let planned = |packet: Packet| Packet { flow: self.accounts.entry(packet.flow), ..packet };
            match action {
                LinkAction::Arrive(packet) => capture.on_arrival(at, link, planned(packet)),
                LinkAction::Depart(packet) => capture.on_departure(link, &planned(packet)),
                LinkAction::Drop(DropCause::Queue(reason), packet) => capture.on_drop(link, reason, &planned(packet)),
                LinkAction::Drop(..) => {}
                LinkAction::Mark { .. } => capture.on_mark(link),
            }
        }
    }

    /// Ends the run at `end`, before its planned end and after every packet has left the network.
    pub fn end_at(&mut self, end: Time) {
        self.network.end_at(end);
        (self.accounts.end, self.accounts.recorder.end) = (end, end);
    }

    /// Writes the packets that were captured by now.
    ///
    /// # Errors
    /// `write` fails.
    pub fn write(&mut self, end: bool, write: &mut WriteCaptured<'_>) -> Result<(), Error> {
        let until = if end { Time::NEVER } else { self.network.now() };
        self.capture.as_mut().map_or(Ok(()), |capture| write(capture, until, end))
    }

    /// Ends the run and returns the outcome.
    ///
    /// # Errors
    /// The audit or `write` fails.
    pub fn finish(mut self, write: &mut WriteCaptured<'_>) -> Result<Outcome, Error> {
        let audit = self.network.finish(self.accounts.end).map_err(Error::Audit)?;
        self.settle(&mut |_| ());
        self.write(true, write)?;
        self.accounts.recorder.finish();
        let finished = Finished {
            links: self.network.links(),
            impairments: self.network.impairments(),
            flows: self.accounts.reports(),
            rtts: self.accounts.rtts.iter().map(Some).collect(),
            completions: &self.accounts.completions,
            recorder: &self.accounts.recorder,
            fingerprint: self.network.fingerprint(),
            audit,
        };
        let shortened = (self.accounts.end != self.plan.duration).then(|| Plan { duration: self.accounts.end, ..self.plan.clone() });
        let (record, series) = report(shortened.as_ref().unwrap_or(self.plan), &finished);
        Ok(Outcome { record, series })
    }
}
