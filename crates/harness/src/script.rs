//! Scripts: what happens to chosen packets of a flow before they enter the network.

use crate::endpoint::Ecn;
use std::time::Duration;

/// An action on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The packet is lost.
    Drop,
    /// The packet gets a congestion mark if it is ECN-capable.
    Mark,
    /// The packet is held back for this time; later ones overtake it.
    Delay(Duration),
}

/// A rule for packets of one flow and direction, counted from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rule {
    pub flow: String,
    pub back: bool,
    pub first: u64,
    pub last: u64,
    pub fate: Fate,
}

/// The rules of a run, and the packets so far.
#[derive(Clone, Default, Debug)]
pub(crate) struct Script {
    pub rules: Vec<Rule>,
}

impl Script {
    /// The fate of a flow's packet of this number; `None` if no rule concerns it.
    pub fn fate(&self, flow: &str, back: bool, number: u64, ecn: Ecn) -> Option<Fate> {
        let concerns = |rule: &&Rule| rule.back == back && rule.flow == flow && (rule.first..=rule.last).contains(&number);
        let fate = self.rules.iter().find(concerns)?.fate;
        (fate != Fate::Mark || ecn != Ecn::NotEct).then_some(fate)
    }
}
