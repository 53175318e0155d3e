//! Warnings about unused TCP options, and ECN modes that do not suit the controller.

use super::{Finding, Subject, group_field};
use crate::check::Group;
use sojourn_cc::{CcConfig, CongestionController, Start};
use sojourn_spec::tcp::{AccEcnOption, Ecn, EcnChoice, Recovery, SackAlgorithm, TcpOptions, TcpOverrides};
use std::collections::HashSet;

impl Subject<'_> {
    /// The values of an option that no flow uses, with the table that sets each.
    ///
    /// An option in `[tcp]` is used if a flow that inherits it uses it.
    fn unused<T>(&self, given: impl Fn(&TcpOverrides) -> Option<T>, uses: impl Fn(&TcpOptions) -> bool) -> Vec<(String, T)> {
        let mut asked: Vec<(String, T)> = given(&self.written.tcp).map(|value| ("tcp".to_string(), value)).into_iter().collect();
        let mut used = HashSet::new();
        for (flows, group) in self.written.flows.iter().zip(&self.checked.groups) {
            let own = flows.tcp.as_ref().and_then(&given);
            let table = if own.is_some() { format!("{}.tcp", group_field(group)) } else { "tcp".to_string() };
            if group.tcp.as_ref().is_some_and(&uses) {
                used.insert(table.clone());
            }
            asked.extend(own.map(|value| (table, value)));
        }
        asked.retain(|(table, _)| !used.contains(table));
        asked
    }

    /// The groups whose controller counts marks, or does not.
    fn controllers(&self, that_count: bool) -> impl Iterator<Item = (&Group, &TcpOptions)> {
        self.stacks().filter(move |(_, tcp)| counts_marks(&tcp.control) == that_count)
    }
}

/// Whether a controller reacts to the number of marks.
fn counts_marks(control: &CcConfig) -> bool {
    control.build(Start::new(10.0, f64::INFINITY)).is_ok_and(|controller| controller.needs().ecn.counts())
}

/// An ECN mode as a scenario has it.
fn written(ecn: Ecn) -> String {
    match EcnChoice::from(ecn) {
        choice @ (EcnChoice::Off | EcnChoice::On) => choice.to_string(),
        choice => format!("\"{choice}\""),
    }
}

/// Every `accecn_option` but `off` that no flow uses, because its hosts have no `AccECN`.
pub(super) fn unused_accecn_options(subject: &Subject<'_>) -> Vec<Finding> {
    let unused = subject.unused(|tcp| tcp.accecn_option, |tcp| tcp.agreed_ecn().is_accurate());
    let said = |(table, option): (String, AccEcnOption)| {
        let why = "no flow uses AccECN (ecn = \"accurate\" or \"l4s\" at both hosts)";
        (format!("{table}.accecn_option"), format!("\"{option}\" has no effect, because {why}"))
    };
    unused.into_iter().filter(|(_, option)| *option != AccEcnOption::Off).map(said).collect()
}

/// Every `sack_algorithm` that no flow uses, because its `recovery` is not "sack".
pub(super) fn unused_sack_algorithms(subject: &Subject<'_>) -> Vec<Finding> {
    let unused = subject.unused(|tcp| tcp.sack_algorithm, |tcp| tcp.recovery == Recovery::Sack);
    let said = |(table, name)| {
        let why = "no flow that it applies to has recovery = \"sack\"";
        (format!("{table}.sack_algorithm"), format!("\"{name}\" has no effect, because {why}"))
    };
    unused.into_iter().map(said).collect()
}

/// Every option of RACK-TLP that no flow uses, because its recovery is another.
pub(super) fn unused_repairs(subject: &Subject<'_>) -> Vec<Finding> {
    type OptionReader = fn(&TcpOverrides) -> Option<bool>;
    let options: [(&str, OptionReader); 4] = [
        ("tail_loss_probe", |tcp| tcp.tail_loss_probe),
        ("f_rto", |tcp| tcp.f_rto),
        ("undo", |tcp| tcp.undo),
        ("proportional_reduction", |tcp| tcp.proportional_reduction),
    ];
    let has_rack = |tcp: &TcpOptions| tcp.recovery == Recovery::Sack && tcp.sack_algorithm == SackAlgorithm::RackTlp;
    let why = "no flow that it applies to has sack_algorithm = \"rack-tlp\"";
    let of_option = |(name, given): (&'static str, OptionReader)| {
        let unused = subject.unused(given, has_rack).into_iter().filter(|(_, on)| *on);
        unused.map(move |(table, _)| (format!("{table}.{name}"), format!("true has no effect, because {why}")))
    };
    options.into_iter().flat_map(of_option).collect()
}

/// Every `start_up` that no flow uses, because its controller has a start of its own.
pub(super) fn unused_start_ups(subject: &Subject<'_>) -> Vec<Finding> {
    let takes = |control: &CcConfig| control.build(Start::new(10.0, f64::INFINITY)).is_ok_and(|controller| controller.needs().start_up);
    let unused = subject.unused(|tcp| tcp.start_up, |tcp| takes(&tcp.control));
    let said = |(table, start_up)| {
        let why = "no controller that it applies to has classic slow start";
        (format!("{table}.start_up"), format!("\"{start_up}\" has no effect, because {why}"))
    };
    unused.into_iter().map(said).collect()
}

/// Prague with a `burst` of its own and `linux_pacing`, which ignores it.
pub(super) fn unused_bursts(subject: &Subject<'_>) -> Vec<Finding> {
    let default = sojourn_cc::algorithms::prague::Params::default().burst;
    let ignored = |(group, tcp): (&Group, &TcpOptions)| match &tcp.control {
        CcConfig::Prague(prague) if tcp.linux_pacing && prague.burst != default => Some((
            format!("{}.tcp.control.burst", group_field(group)),
            format!("\"{}\" has no effect, because linux_pacing sends segments one by one", prague.burst),
        )),
        _ => None,
    };
    subject.stacks().filter_map(ignored).collect()
}

/// Flows that send ECT(1) although their controller does not count marks.
///
/// ECT(1) is for scalable senders (rfc9331#4.3). Other controllers treat a marked window as a lossy one, or ignore marks, and fill the
/// low-latency queue. A flow whose receiver has no `AccECN` sends no ECT(1).
pub(super) fn misplaced_ect1(subject: &Subject<'_>) -> Vec<Finding> {
    let said = |(group, tcp): (&Group, &TcpOptions)| {
        let name = tcp.control.name();
        let problem = format!(
            "\"l4s\" sends packets of {name} to the low-latency queue, but it does not react to the count of marks; true keeps it among \
             the classic ones"
        );
        (format!("{}.tcp.ecn", group_field(group)), problem)
    };
    subject.controllers(false).filter(|(_, tcp)| tcp.agreed_ecn() == Ecn::L4s).map(said).collect()
}

/// Flows whose controller counts marks, but whose `peer_ecn` reports no counts.
///
/// They have classic ECN (one echo per window) or no ECN.
pub(super) fn uncounted_marks(subject: &Subject<'_>) -> Vec<Finding> {
    let why = |tcp: &TcpOptions| {
        let (name, peer) = (tcp.control.name(), tcp.peer_ecn?);
        match tcp.agreed_ecn() {
            Ecn::Off if tcp.ecn.is_on() => Some(format!("false leaves {name} without ECN: its packets cannot be marked")),
            Ecn::Classic if tcp.ecn != Ecn::Classic => Some(format!(
                "{} does not support {}, so the connection uses classic ECN with one echo per window: {name} gets no counts",
                written(peer),
                written(tcp.ecn)
            )),
            _ => None,
        }
    };
    let said = |(group, tcp): (&Group, &TcpOptions)| Some((format!("{}.tcp.peer_ecn", group_field(group)), why(tcp)?));
    subject.controllers(true).filter_map(said).collect()
}

/// Groups of TCP-LP whose receivers delay ACKs.
///
/// The measured delay then contains the delay of the ACK. At a window of one segment this is the largest delay of all, and the window may
/// never open again.
pub(super) fn held_acks(subject: &Subject<'_>) -> Vec<Finding> {
    let held = |(_, tcp): &(&Group, &TcpOptions)| tcp.delayed_ack.is_some() && matches!(tcp.control, CcConfig::TcpLp(_));
    let said = |(group, _): (&Group, &TcpOptions)| {
        let problem = "tcp-lp counts delayed ACKs as queuing delay, so its window may stay at one segment over an empty link; \
                       tcp.delayed_ack = false shows it without that";
        (group_field(group), problem.to_string())
    };
    subject.stacks().filter(held).map(said).collect()
}
