//! A network that the caller drives by hand.

use crate::text::{fail, or_fail, owned, read};
use sojourn_harness::{Ecn, scenario};
use sojourn_lab::ForeignRun;
use sojourn_sim::{ForeignAction, ForeignPacket};
use sojourn_units::{Duration, Time};
use std::ffi::{c_char, c_int};

/// A network at a time of its run.
pub struct SojournNetwork {
    run: ForeignRun,
    /// The time of the last event.
    now: Time,
}

/// A packet of a flow of the caller.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SojournPacket {
    /// The flow, from [`sojourn_network_flow`].
    pub flow: u32,
    /// Size on the wire in bytes, with headers; 1 or more.
    pub size: u16,
    /// The two bits of its ECN field: 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE (rfc3168#5).
    pub ecn: u8,
    /// Whether it travels from the receiving end to the sending one.
    pub back: bool,
    /// The caller's number for it. The network does not read it.
    pub token: u64,
}

/// The kind of an event.
#[repr(C)]
#[derive(Clone, Copy)]
pub enum SojournKind {
    /// The application of the sending end writes `bytes`.
    Write,
    /// The application stops: data that was not yet sent is discarded.
    Stop,
    /// `packet` arrives, marked if a link marked it.
    Arrive,
    /// A link drops `packet`.
    Drop,
    /// A link duplicates `packet`: one more with its token is in the network.
    Duplicate,
}

/// Bytes of a write without end.
pub const SOJOURN_ENDLESS: u64 = u64::MAX;

/// An event of a flow of the caller.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SojournEvent {
    /// The time since the start of the run in nanoseconds.
    pub at_ns: u64,
    /// The kind.
    pub kind: SojournKind,
    /// The flow.
    pub flow: u32,
    /// Bytes of a write, or `SOJOURN_ENDLESS`; else 0.
    pub bytes: u64,
    /// Whether no write follows this one.
    pub last: bool,
    /// The packet of an arrival, drop or duplication; else zeros.
    pub packet: SojournPacket,
}

/// The codepoint of two bits, in the order of the header.
fn codepoint(bits: u8) -> Option<Ecn> {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].get(usize::from(bits)).copied()
}

fn bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

fn packet(packet: &ForeignPacket) -> SojournPacket {
    let ForeignPacket { flow, back, size, ecn, token } = *packet;
    SojournPacket { flow, size, ecn: bits(ecn), back, token }
}

/// Creates the network of a scenario in TOML, at time 0; NULL if the scenario has an error.
/// Flows with a `host`, of any name, are the caller's. The others are the simulator's.
///
/// # Safety
/// `toml` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_network_new(toml: *const c_char, seed: u64) -> *mut SojournNetwork {
    // SAFETY: the caller upholds it.
    let run =
        unsafe { read(toml, "toml") }.and_then(|text| or_fail(scenario(text))).and_then(|checked| or_fail(ForeignRun::new(&checked, seed)));
    run.map_or(std::ptr::null_mut(), |run| Box::into_raw(Box::new(SojournNetwork { run, now: Time::ZERO })))
}

/// Returns the number of a flow such as "web/0"; -1 if there is none of this name that has a host.
///
/// # Safety
/// `network` is from [`sojourn_network_new`], and `name` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_network_flow(network: *const SojournNetwork, name: *const c_char) -> i64 {
    // SAFETY: the caller upholds it.
    let (network, Some(name)) = (unsafe { &*network }, unsafe { read(name, "name") }) else { return -1 };
    let mut flows = (0..).zip(&network.run.plan().flows).filter(|(_, flow)| flow.host.is_some());
    flows.find(|(_, flow)| flow.name == name).map_or_else(
        || {
            fail(&format!("expected a flow that has a host, got \"{name}\""));
            -1
        },
        |(number, _)| number,
    )
}

/// Stores the next event that is due by `until_ns`. Returns 1 if there is one, 0 if not, -1 after an error.
/// Packets that follow from an event must be sent before the next call.
///
/// # Safety
/// `network` is from [`sojourn_network_new`], and `event` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_network_next(network: *mut SojournNetwork, until_ns: u64, event: *mut SojournEvent) -> c_int {
    // SAFETY: the caller upholds it.
    let network = unsafe { &mut *network };
    let Some(next) = or_fail(network.run.next(Time::ZERO + Duration::from_nanos(until_ns))) else { return -1 };
    let Some(next) = next else { return 0 };
    // A drop may be reported before its time.
    let is_drop = matches!(next.action, ForeignAction::Drop(_));
    network.now = if is_drop { network.now } else { network.now.max(next.at) };
    let none = SojournPacket { flow: 0, size: 0, ecn: 0, back: false, token: 0 };
    let (kind, bytes, last, packet) = match next.action {
        ForeignAction::Write { bytes, last } => (SojournKind::Write, bytes.unwrap_or(SOJOURN_ENDLESS), last, none),
        ForeignAction::Stop => (SojournKind::Stop, 0, true, none),
        ForeignAction::Arrive(arrived) => (SojournKind::Arrive, 0, false, packet(&arrived)),
        ForeignAction::Drop(dropped) => (SojournKind::Drop, 0, false, packet(&dropped)),
        ForeignAction::Duplicate(copied) => (SojournKind::Duplicate, 0, false, packet(&copied)),
    };
    // SAFETY: the caller upholds it.
    unsafe { event.write(SojournEvent { at_ns: next.at.as_nanos(), kind, flow: next.flow, bytes, last, packet }) };
    1
}

/// Sends a packet at `now_ns`, which is not before the last event. Returns 0, or -1 if a field is out of range.
///
/// # Safety
/// `network` is from [`sojourn_network_new`], and `packet` can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_network_send(network: *mut SojournNetwork, now_ns: u64, packet: *const SojournPacket) -> c_int {
    // SAFETY: the caller upholds it.
    let (network, packet) = unsafe { (&mut *network, *packet) };
    let SojournPacket { flow, size, ecn, back, token } = packet;
    let Some(ecn) = codepoint(ecn) else {
        fail(&format!("ecn: expected 0 to 3, got {ecn}"));
        return -1;
    };
    if size == 0 {
        fail("size: expected 1 or more, got 0");
        return -1;
    }
    match network.at(now_ns, flow) {
        Some(now) => network.run.send(now, &ForeignPacket { flow, back, size, ecn, token }),
        None => return -1,
    }
    0
}

/// Counts `bytes` that the receiving application of a flow has read. Returns 0, or -1 if a value is out of range.
///
/// # Safety
/// `network` is from [`sojourn_network_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_network_deliver(network: *mut SojournNetwork, now_ns: u64, flow: u32, bytes: u64) -> c_int {
    // SAFETY: the caller upholds it.
    unsafe { &mut *network }.tell(now_ns, flow, |run, now| run.deliver(now, flow, bytes))
}

/// Records an RTT sample of a flow for its statistics. Returns 0, or -1 if a value is out of range.
///
/// # Safety
/// `network` is from [`sojourn_network_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_network_rtt(network: *mut SojournNetwork, now_ns: u64, flow: u32, rtt_ns: u64) -> c_int {
    // SAFETY: the caller upholds it.
    unsafe { &mut *network }.tell(now_ns, flow, |run, now| run.sample_rtt(now, flow, Duration::from_nanos(rtt_ns)))
}

/// Records that the finite transfer of a flow is complete. Returns 0, or -1 if a value is out of range.
///
/// # Safety
/// `network` is from [`sojourn_network_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_network_complete(network: *mut SojournNetwork, now_ns: u64, flow: u32) -> c_int {
    // SAFETY: the caller upholds it.
    unsafe { &mut *network }.tell(now_ns, flow, |run, now| run.complete(now, flow))
}

/// Runs to the end, frees the network, and returns the record as JSON; NULL after an error.
/// The caller frees the text with [`sojourn_string_free`](crate::sojourn_string_free).
///
/// # Safety
/// `network` is from [`sojourn_network_new`], and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_network_finish(network: *mut SojournNetwork) -> *mut c_char {
    // SAFETY: the caller upholds it.
    let network = unsafe { Box::from_raw(network) };
    let record = or_fail(network.run.finish()).and_then(|outcome| or_fail(serde_json::to_string(&outcome.record)));
    record.map_or(std::ptr::null_mut(), |record| owned(&record))
}

/// Frees a network without a record. NULL is a no-op.
///
/// # Safety
/// `network` is NULL or from [`sojourn_network_new`], and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_network_free(network: *mut SojournNetwork) {
    if !network.is_null() {
        // SAFETY: the caller upholds it.
        drop(unsafe { Box::from_raw(network) });
    }
}

impl SojournNetwork {
    /// The time of a call about a flow; `None` and an error if one of them is out of range.
    fn at(&self, now_ns: u64, flow: u32) -> Option<Time> {
        let (now, flows) = (Time::ZERO + Duration::from_nanos(now_ns), &self.run.plan().flows);
        let known = flows.get(flow as usize).is_some_and(|flow| flow.host.is_some());
        if !known {
            fail(&format!("flow: expected the number of a flow that has a host, got {flow}"));
        } else if now < self.now {
            fail(&format!("now_ns: expected the time of the last event, {}, or later, got {now_ns}", self.now.as_nanos()));
        }
        (known && now >= self.now).then_some(now)
    }

    fn tell(&mut self, now_ns: u64, flow: u32, tell: impl FnOnce(&mut ForeignRun, Time)) -> c_int {
        let Some(now) = self.at(now_ns, flow) else { return -1 };
        tell(&mut self.run, now);
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sojourn_error, sojourn_string_free};
    use std::ffi::{CStr, CString};

    const SCENARIO: &CStr = c"
duration = '1 s'
links = [{ name = 'up', from = 'a', to = 'b', rate = '10 Mbit/s' }, { name = 'down', from = 'b', to = 'a', delay = '20 ms' }]
flows = [{ name = 'mine', from = 'a', to = 'b', host = 'c' }, { name = 'ours', from = 'a', to = 'b' }]";

    fn network(toml: &CStr) -> *mut SojournNetwork {
        unsafe { sojourn_network_new(toml.as_ptr(), 1) }
    }

    fn error() -> String {
        unsafe { CStr::from_ptr(sojourn_error()) }.to_str().unwrap().into()
    }

    #[test]
    fn a_wrong_scenario_is_null_and_an_error_with_its_place() {
        assert!(network(c"duration = 10").is_null());
        assert!(error().starts_with("scenario:1:12: duration: expected"), "{}", error());
        assert!(unsafe { sojourn_network_new(std::ptr::null(), 1) }.is_null());
        assert_eq!(error(), "toml: expected a string, got NULL");
    }

    #[test]
    fn only_flows_with_a_host_can_be_driven() {
        let network = network(SCENARIO);
        let flow = |name: &CStr| unsafe { sojourn_network_flow(network, name.as_ptr()) };
        assert_eq!((flow(c"mine/0"), flow(c"ours/0")), (0, -1));
        assert_eq!(error(), "expected a flow that has a host, got \"ours/0\"");
        let packet = SojournPacket { flow: 0, size: 1500, ecn: 0, back: false, token: 1 };
        let send = |packet: SojournPacket| unsafe { sojourn_network_send(network, 0, &packet) };
        assert_eq!(send(packet), 0);
        for (wrong, reason) in [
            (SojournPacket { flow: 1, ..packet }, "flow: expected the number of a flow that has a host, got 1"),
            (SojournPacket { ecn: 4, ..packet }, "ecn: expected 0 to 3, got 4"),
            (SojournPacket { size: 0, ..packet }, "size: expected 1 or more, got 0"),
        ] {
            assert_eq!((send(wrong), error()), (-1, reason.into()));
        }
        unsafe { sojourn_network_free(network) };
    }

    #[test]
    fn a_packet_arrives_after_its_transmission_and_keeps_its_fields() {
        let network = network(SCENARIO);
        let packet = SojournPacket { flow: 0, size: 1500, ecn: 2, back: false, token: 7 };
        assert_eq!(unsafe { sojourn_network_send(network, 0, &packet) }, 0);
        let mut event = std::mem::MaybeUninit::uninit();
        let arrived = loop {
            assert_eq!(unsafe { sojourn_network_next(network, 1_000_000_000, event.as_mut_ptr()) }, 1);
            let event = unsafe { event.assume_init_ref() };
            if let SojournKind::Arrive = event.kind {
                break event;
            }
        };
        // 1500 bytes take 1.2 ms at 10 Mbit/s. The competitor's first packet may be before it.
        assert!(arrived.at_ns >= 1_200_000);
        assert_eq!((arrived.packet.size, arrived.packet.ecn, arrived.packet.token), (1500, 2, 7));
        // The network does not go back in time.
        assert_eq!(unsafe { sojourn_network_send(network, 0, &packet) }, -1);
        let record = unsafe { sojourn_network_finish(network) };
        let text = CString::from(unsafe { CStr::from_ptr(record) });
        assert!(text.to_str().unwrap().contains("\"mine/0\""));
        unsafe { sojourn_string_free(record) };
    }
}
