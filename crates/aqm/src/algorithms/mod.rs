//! The registered algorithms: a file and a line for each.

use crate::controller::ControllerOf;
use crate::disciplines::aqm::AqmDiscipline;
use crate::disciplines::discipline::{Discipline, NO_LIMIT};
use crate::registry::{plain, registry};
use crate::{
    AnyLaw, Aqm, ArrivalVerdict, Backlog, DepartureVerdict, Dropped, FlowAqm, Layout, Link, Needs, OwnQueues, Packet, PacketView,
    ParamError, Plugin,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use sojourn_fuzzy::Controller;
use sojourn_units::{Duration, Probability, Stream, Time};

mod ce_threshold;

registry! {
    "droptail" => drop_tail::DropTail: "FIFO that drops packets that arrive at a full queue",
    "drophead" => drop_head::DropHead with queues: "FIFO that drops its head when a packet arrives at a full queue, as Linux's pfifo_head_drop",
    "red" => red::Red: "random early detection: gentle, adaptive, in packets or bytes",
    "pi" => pi::Pi with law: "proportional-integral control of the queue, Hollot et al. 2001",
    "rem" => rem::Rem with law: "random exponential marking by a price, Athuraliya et al. 2001",
    "led" => led::Led with law: "load early detection: a moving average of the load, Durresi et al. 2006",
    "avq" => avq::Avq: "adaptive virtual queue, Kunniyur and Srikant 2001",
    "blue" => blue::Blue: "one probability, raised by losses and lowered by idleness, Feng et al. 1999",
    "pd" => pd::Pd with law: "linear proportional-derivative control of the queue, Lehto et al. 2005",
    "cpc" => cpc::Cpc with law: "cascade of a window loop and a queue loop, To, Thi and Hwang 2015",
    "external" => external::External with host: "a law supplied by the caller, for example in Python (docs/own-algorithms.md)",
    "linux" => linux::Linux with host: "a queue discipline of a Linux kernel in the syntax of `tc`, on a Linux host",
    "fuzzy-red" => fuzzy_red::FuzzyRed with law: "seven fuzzy rules over the queue and its change, Lehto et al. 2005",
    "codel" => codel::Codel: "controlled delay: drops by the sojourn time of packets, RFC 8289",
    "fq-codel" => fq_codel::FqCodel with queues: "a queue for each flow, each under CoDel, RFC 8290",
    "fuzzy-rtt" => fuzzy_rtt::FuzzyRtt: "a fuzzy law for each class of round-trip times, Boudi and Loudini 2024",
    "flc" => flc::Flc with law: "a fuzzy controller of the queue and its change, after Ren et al. 2002",
    "pid" => pid::Pid with law: "PID control of the queue designed for stability margins, after Fan et al. 2003",
    "pi-rtt" => pi_rtt::PiRtt: "PID whose probability is scaled by the inverse square of a packet's RTT",
    "pi2" => pi2::Pi2 with law: "PI control of the delay with a squared output, the base law of RFC 9332",
    "dualpi2" => dualpi2::DualPi2 with queues: "two queues under one PI law, one of them for scalable senders (DualPI2, RFC 9332)",
    "dualq" => dualq::DualQ with queues: "a dual queue with another law than PI2, coupled by that law's probability (RFC 9332)",
    "step" => step::Step: "signals above a threshold in packets, bytes or time, as switches do for DCTCP (RFC 8257)",
    "choke" => choke::Choke: "RED that drops an arriving packet and a randomly drawn packet if both are of the same flow, Pan et al. 2000",
    "choker" => choker::Choker: "CHOKe with draws that follow the load, after Lu et al. 2014",
    "fq" => fq::Fq with queues: "a queue for each flow, each under any AQM that fills one queue",
    "fq-pie" => fq_pie::FqPie with queues: "a queue for each flow, each under PIE, as in Linux",
    "cobalt" => cobalt::Cobalt: "CoDel, and BLUE against flows that do not react, as in the queues of Linux's CAKE",
    "cake" => cake::Cake with queues: "fair shares of hosts and flows in tins, each queue under COBALT, with a shaper: Linux's CAKE",
    "pie" => pie::Pie with law: "a probability that follows the delay, Pan et al. 2013, RFC 8033",
}

impl AqmConfig {
    /// The fuzzy controller of an algorithm that has one.
    pub fn fuzzy(&self) -> Option<Result<Controller, ParamError>> {
        match self {
            AqmConfig::FuzzyRed(params) => Some(params.controller()),
            AqmConfig::FuzzyRtt(params) => Some(params.design().controller()),
            AqmConfig::Flc(params) => Some(params.design().controller()),
            _ => None,
        }
    }

    /// The fuzzy rules of an algorithm over the queue of a link.
    /// Only algorithms whose probability changes in proportion to the rules' output have them.
    pub fn queue_rules(&self, link: &Link) -> Option<Result<fuzzy_rtt::QueueRules, ParamError>> {
        match self {
            AqmConfig::FuzzyRtt(params) => Some(params.design().rules(link)),
            AqmConfig::Flc(params) => Some(params.design().rules(link)),
            _ => None,
        }
    }
}

/// The controller of a queue under any algorithm.
pub type QueueController = ControllerOf<AnyAqm>;

impl QueueController {
    /// A controller that passes everything and counts it.
    pub fn passing() -> Self {
        QueueController::new(AnyAqm::DropTail(drop_tail::DropTail), NO_LIMIT, false, Stream::named(0, ""))
    }
}

/// An algorithm that serves all flows has no state per flow to discard.
impl FlowAqm for AnyAqm {}

/// The link of unit tests: 10 Mbit/s, 11 ms, packets of 1000 bytes.
#[cfg(test)]
pub(crate) fn test_link() -> Link {
    let rate = sojourn_units::Rate::from_bps(10_000_000).expect("above zero");
    Link { rate, delay: Duration::from_millis(11), mean_packet: 1000, limit_packets: 100 }
}

/// A packet of unit tests: 1000 bytes of data of flow 0 without ECN, at time 0.
#[cfg(test)]
pub(crate) fn test_packet() -> PacketView {
    let (ecn, class) = (crate::Ecn::NotEct, crate::DualClass::Classic);
    PacketView { now: Time::ZERO, size: 1000, flow: 0, rtt_hint_ms: 0, has_data: true, ecn, class, drawn: None }
}
