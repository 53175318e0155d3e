//! The interface for the kernel's driver: network, applications and log.
//! A C interface wraps it.

use crate::controllers::{Connection, KernelController};
use crate::header::store;
use crate::log::{Entry, Logged};
use crate::network::{CopyPacket, Fate, KernelNetwork, MakeQueue};
use crate::packet::Packet;
use crate::source::{Source, Written};
use crate::wiring::{Flow, Wiring};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use sojourn_spec::tcp::EcnChoice;
use sojourn_units::{Duration, Stream, Time};

/// The length of congestion control names in Linux (`TCP_CA_NAME_MAX`).
/// It includes the terminating zero.
const NAME: usize = 16;

/// A flow for the driver; declared in C too.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct GuestFlow {
    /// The host that sends its data.
    pub source: u32,
    /// The host that receives its data.
    pub destination: u32,
    /// Size of a full packet with its headers, in bytes.
    pub packet: u32,
    /// The DSCP of its packets.
    pub dscp: u8,
    /// 1 over TCP, 0 over UDP.
    pub tcp: u8,
    /// The ECN mode: 0 none, 1 classic, 2 DCTCP, 3 AccECN, 4 L4S.
    pub ecn: u8,
    /// 1 if SACK is offered.
    pub sack: u8,
    /// 1 if the sender is paced even if its congestion control sets no pacing rate.
    pub pacing: u8,
    /// 1 if the receiver returns every datagram.
    pub echoes: u8,
    /// 1 if it is a session of connections.
    pub session: u8,
    /// 1 if the receiver requests the data of connections on separate connections.
    pub requests: u8,
    /// The name of the congestion control with its terminating zero.
    pub controller: [u8; NAME],
}

/// Linux's initial window (`TCP_INIT_CWND`), in segments.
const INITIAL_WINDOW: u32 = 10;

/// The number of an ECN mode in C.
fn ecn_number(ecn: EcnChoice) -> u8 {
    match ecn {
        EcnChoice::Off => 0,
        EcnChoice::On => 1,
        EcnChoice::Dctcp => 2,
        EcnChoice::Accurate => 3,
        EcnChoice::L4s => 4,
    }
}

/// The simulator's controller of a flow, at the start of a connection.
fn controller(flow: &Flow) -> Result<Option<KernelController>, String> {
    let Some(tcp) = &flow.tcp else { return Ok(None) };
    let connection = Connection { pacing: tcp.pacing, counts_marks: ecn_number(tcp.ecn) >= ecn_number(EcnChoice::Dctcp) };
    let made = tcp.control.as_ref().map(|control| KernelController::new(&control.0, INITIAL_WINDOW, connection));
    made.transpose().map_err(|error| format!("flows.{}.tcp.control.{error}", flow.name))
}

/// The random stream of the next controller of a flow.
/// Its name is that of its connection in the simulator: the flow's, or `<session>/<number>` in the order in which a session opens
/// connections.
/// `started` counts the controllers of each flow.
fn next_stream(wiring: &Wiring, flow: usize, started: &mut [u32]) -> Stream {
    let Flow { name, traffic, .. } = &wiring.flows[flow];
    let number = started[flow];
    started[flow] += 1;
    let name = if traffic.opens_connections() { format!("{name}/{number}") } else { name.clone() };
    Stream::named_by_parts(wiring.seed, ["flow/", &name, "/controller"])
}

/// A run inside the kernel.
#[derive(Clone, Debug)]
pub struct Guest {
    wiring: Wiring,
    network: KernelNetwork,
    applications: Vec<Source>,
    /// The controllers by number; numbers of closed connections are reused.
    controllers: Vec<Option<KernelController>>,
    /// Number of controllers created per flow.
    started: Vec<u32>,
    log: Vec<u8>,
    headers: Vec<u8>,
}

impl Guest {
    /// The run of a plan at time 0. `make` creates queues of the kernel.
    ///
    /// # Errors
    /// The error in the plan as text.
    pub fn new(plan: &[u8], make: &mut MakeQueue<'_>) -> Result<Guest, String> {
        let text = core::str::from_utf8(plan).map_err(|_| String::from("expected text in UTF-8"))?;
        let wiring = Wiring::from_toml(text)?;
        let network = KernelNetwork::new(&wiring, make)?;
        let applications = wiring.flows.iter().map(|flow| Source::new(flow, &wiring)).collect();
        wiring.flows.iter().try_for_each(|flow| controller(flow).map(|_| ()))?;
        let started = vec![0; wiring.flows.len()];
        Ok(Guest { wiring, network, applications, controllers: Vec::new(), started, log: Vec::new(), headers: Vec::new() })
    }

    /// Sets the function that copies packets of the kernel, for duplicates.
    #[must_use]
    pub fn with_copies(mut self, copy: CopyPacket) -> Self {
        self.network.set_copies(copy);
        self
    }

    /// The number of hosts.
    pub fn hosts(&self) -> u32 {
        self.wiring.hosts
    }

    /// The number of flows.
    pub fn flows(&self) -> u32 {
        self.wiring.flows.len() as u32
    }

    /// The end of the run.
    pub fn duration(&self) -> Time {
        self.wiring.duration
    }

    /// A flow of the plan. An unknown number returns a default.
    pub fn flow(&self, number: u32) -> GuestFlow {
        let Some(flow) = self.wiring.flows.get(number as usize) else { return GuestFlow::default() };
        let mut guest = GuestFlow { source: flow.source, destination: flow.destination, ..GuestFlow::default() };
        (guest.packet, guest.dscp) = (self.wiring.packet, flow.dscp);
        guest.echoes = u8::from(flow.traffic.echoes());
        guest.session = u8::from(flow.traffic.opens_connections());
        guest.requests = u8::from(flow.traffic.requests());
        if let Some(tcp) = &flow.tcp {
            (guest.tcp, guest.packet, guest.ecn) = (1, tcp.packet, ecn_number(tcp.ecn));
            (guest.sack, guest.pacing) = (u8::from(tcp.sack), u8::from(tcp.pacing));
            for (to, from) in guest.controller[..NAME - 1].iter_mut().zip(tcp.controller.bytes()) {
                *to = from;
            }
        }
        guest
    }

    /// The time of the next action of a flow's application; [`Time::NEVER`] if none.
    pub fn application_due(&self, flow: u32) -> Time {
        self.applications.get(flow as usize).map_or(Time::NEVER, Source::due)
    }

    /// Performs the action of a flow's application that is due.
    pub fn application_acts(&mut self, flow: u32) -> Written {
        self.applications.get_mut(flow as usize).map_or(Written { last: 1, ..Written::default() }, Source::act)
    }

    /// Handles the completion of a session's connection.
    pub fn session_completes(&mut self, now: u64, flow: u32) {
        if let Some(source) = self.applications.get_mut(flow as usize) {
            source.on_complete(Time::from_nanos(now));
        }
    }

    /// Opens a connection of a flow with this window; returns the number of its controller.
    pub fn controller_starts(&mut self, flow: u32, window: u32) -> u32 {
        let mut fresh = self.wiring.flows.get(flow as usize).and_then(|flow| controller(flow).ok().flatten());
        if let Some(controller) = &mut fresh {
            controller.start(window);
            controller.use_random(next_stream(&self.wiring, flow as usize, &mut self.started));
        }
        let free = self.controllers.iter().position(Option::is_none);
        let number = free.unwrap_or(self.controllers.len());
        if free.is_none() {
            self.controllers.push(None);
        }
        self.controllers[number] = fresh;
        number as u32
    }

    /// Closes the connection of a controller.
    pub fn controller_ends(&mut self, number: u32) {
        if let Some(controller) = self.controllers.get_mut(number as usize) {
            *controller = None;
        }
    }

    /// The controller with this number, if any.
    pub fn controller(&mut self, number: u32) -> Option<&mut KernelController> {
        self.controllers.get_mut(number as usize)?.as_mut()
    }

    fn note(&mut self, now: u64, entry: Entry) {
        self.log.extend_from_slice(&Logged { at: Time::from_nanos(now), entry }.to_bytes());
    }

    /// Sends a packet from a host at `now` in ns.
    pub fn send(&mut self, now: u64, packet: Packet) {
        self.note(now, Entry::Sent(packet));
        if self.wiring.headers {
            store(&packet.header, &mut self.headers);
        }
        self.network.send(Time::from_nanos(now), packet);
        self.note_decisions(now);
    }

    fn note_decisions(&mut self, now: u64) {
        for (link, decision) in self.network.take_decisions() {
            self.note(now, Entry::Decided { link, decision });
        }
    }

    /// Wakes a link at `now` in ns: its host-owned queue is ready to send.
    pub fn wake(&mut self, now: u64, link: u32) {
        self.note(now, Entry::Woken { link });
        self.network.wake(Time::from_nanos(now), link);
        self.note_decisions(now);
    }

    /// Executes events that are due by `now` in ns.
    pub fn advance(&mut self, now: u64) {
        self.network.advance(Time::from_nanos(now));
        self.note_decisions(now);
    }

    /// The time of the next event in ns; the maximum if there are no events.
    pub fn next_event(&mut self) -> u64 {
        self.network.next_event().unwrap_or(Time::NEVER).as_nanos()
    }

    /// The next packet that has left the network, with its fate.
    pub fn settled(&mut self) -> Option<(Packet, Fate)> {
        self.network.settled().map(|settled| (settled.packet, settled.fate))
    }

    /// Logs bytes that the receiving application has read.
    pub fn on_read(&mut self, now: u64, flow: u32, bytes: u64) {
        self.note(now, Entry::Read { flow, bytes });
    }

    /// Logs a round-trip sample of a sender.
    pub fn on_rtt(&mut self, now: u64, flow: u32, rtt_us: u64) {
        self.note(now, Entry::Rtt { flow, rtt: Duration::from_micros(rtt_us) });
    }

    /// Logs a change of a sender's windows.
    pub fn on_window(&mut self, now: u64, flow: u32, cwnd: u32, ssthresh: u32) {
        self.note(now, Entry::Window { flow, cwnd, ssthresh });
    }

    /// Logs the start of a sender's loss recovery.
    pub fn on_loss(&mut self, now: u64, flow: u32, timeout: bool) {
        self.note(now, if timeout { Entry::Timeout { flow } } else { Entry::Recovery { flow } });
    }

    /// Logs the ACK of the last byte of a connection.
    pub fn on_completed(&mut self, now: u64, flow: u32, opened: u64, bytes: u64) {
        self.note(now, Entry::Completed { flow, opened: Time::from_nanos(opened), bytes });
    }

    /// Logs the end of the run.
    pub fn on_end(&mut self, now: u64) {
        self.advance(now);
        self.note(now, Entry::End { fingerprint: self.network.fingerprint() });
    }

    /// The log since it was last cleared.
    pub fn log(&self) -> &[u8] {
        &self.log
    }

    /// Clears the log.
    pub fn clear_log(&mut self) {
        self.log.clear();
    }

    /// The headers of sent packets since they were last cleared.
    /// Empty if the plan does not request headers.
    pub fn headers(&self) -> &[u8] {
        &self.headers
    }

    /// Clears the headers.
    pub fn clear_headers(&mut self) {
        self.headers.clear();
    }
}
