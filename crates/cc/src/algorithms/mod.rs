//! The registered congestion controllers: one file each, and one line each in the registry.

use crate::registry::registry;
use crate::{About, Ack, CongestionController, CongestionEvent, Event, LostSegment, Needs, Pacing, ParamError, RateSample, Start, Window};
use alloc::vec::Vec;
use sojourn_units::Time;

/// A controller, as an entry of lists.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in scenario files.
    pub name: &'static str,
    /// One sentence that describes it.
    pub summary: &'static str,
    /// The default parameters, for lists and for tests of the whole registry.
    pub default: fn() -> CcConfig,
    /// The traceable variables.
    pub variables: fn() -> Vec<About>,
}

registry! {
    "reno" => reno::Reno: "additive increase, half the window after congestion (RFC 5681)",
    "cubic" => cubic::Cubic: "the window is a cubic function of the time since the last reduction (RFC 9438, or v2.1 of Linux 2.6.22)",
    "bbr" => bbr::Bbr: "paces at the maximum delivery rate and limits the data in flight to two BDPs; ignores marks (BBR version 1, as in Linux)",
    "bbr3" => bbr3::Bbr3: "sets pacing rate and window by a path model of delivery rate, RTT and losses; a round trip with a mark counts as one with a loss (BBR version 3, draft-ietf-ccwg-bbr)",
    "dctcp" => dctcp::Dctcp: "reduces the window by half of the fraction of marked segments (RFC 8257)",
    "prague" => prague::Prague: "a scalable controller for the Internet: DCTCP with pacing and less RTT dependence (Prague)",
    "highspeed" => highspeed::HighSpeed: "grows faster and decreases less at large windows (RFC 3649)",
    "scalable" => scalable::Scalable: "the window grows by one hundredth of the acknowledged segments (Kelly 2003)",
    "illinois" => illinois::Illinois: "losses reduce the window, and the queuing delay sets its growth rate (Liu, Basar and Srikant 2006)",
    "htcp" => htcp::Htcp: "grows with the time since the last congestion (Leith and Shorten 2004)",
    "vegas" => vegas::Vegas: "keeps a few segments queued, estimated from the RTT (Brakmo and Peterson 1995)",
    "westwood" => westwood::Westwood: "Reno that reduces the window to measured bandwidth times minimum RTT (Westwood+, Grieco and Mascolo 2004)",
    "cdg" => cdg::Cdg: "Reno that also backs off with a probability when the RTT rises (Hayes and Armitage 2011)",
    "copa" => copa::Copa: "paces at a rate that is inversely proportional to the queuing delay (Arun and Balakrishnan 2018)",
    "scream" => scream::Scream: "marks and queuing delay reduce the window proportionally (SCReAMv2, a draft for media)",
    "ledbat" => ledbat::Ledbat: "holds the queuing delay at a target and yields to other flows (RFC 6817, or the ns-2 module)",
    "ledbat++" => ledbatpp::LedbatPp: "LEDBAT with a multiplicative decrease and periodic slowdowns (draft-irtf-iccrg-ledbat-plus-plus)",
    "rledbat" => rledbat::RLedbat: "LEDBAT++ at the receiver, which limits a CUBIC sender by the receive window (RFC 9840)",
    "fledbat" => fledbat::Fledbat: "LEDBAT with a multiplicative decrease, fair to flows that start later (Carofiglio et al. 2013)",
    "tcp-lp" => tcp_lp::TcpLp: "Reno that halves its window at the first sign of queuing delay (Kuzmanovic and Knightly 2006)",
    "external" => external::External: "a controller supplied by the caller, for example in Python (docs/own-algorithms.md)",
    "linux" => linux::Linux: "a congestion control of a Linux kernel, on a Linux host",
    "flower" => flower::Flower: "a fuzzy law over LEDBAT's queuing delay (Trang and Lochin 2016)",
    "flower+" => flower_plus::FlowerPlus: "FLOWER with a lower target, a multiplicative decrease and periodic slowdowns",
}

impl CcConfig {
    /// The law of a new connection as a fuzzy controller; `None` for other controllers.
    pub fn fuzzy(&self) -> Option<Result<sojourn_fuzzy::Controller, sojourn_fuzzy::FuzzyError>> {
        match self {
            CcConfig::Flower(_) => Some(flower::controller()),
            _ => None,
        }
    }
}
