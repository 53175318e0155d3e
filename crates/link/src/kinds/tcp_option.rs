//! A middlebox that blocks a TCP option. Both actions occur on the internet (honda-2011).
//! It overwrites the option by NOPs (iptables `TCPOPTSTRIP`), or drops packets with it. A packet keeps its size.

use crate::{Effect, Impairment, ParamError, Streams, TcpOption, Transit};

/// Parameters of a middlebox that blocks an option.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TcpOptionFilter"))]
pub struct Params {
    /// The option: "accecn" or "sack" (SACK blocks).
    /// "accecn" are AccECN's byte counters in data, ACKs and SYN-ACKs.
    pub option: TcpOption,
    /// Action on packets with the option: "strip" (default) or "drop".
    /// "strip" removes the option, "drop" drops the packet.
    #[cfg_attr(feature = "serde", serde(default))]
    pub action: Action,
}

/// Action on packets with the option.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TcpOptionAction"))]
pub enum Action {
    /// Removes the option.
    #[default]
    Strip,
    /// Drops the packet.
    Drop,
}

impl crate::Params for Params {
    type Impairment = Filter;
    const READS_OPTIONS: bool = true;

    fn example() -> Self {
        Params { option: TcpOption::AccEcn, action: Action::Strip }
    }

    fn check(&self) -> Result<(), ParamError> {
        Ok(())
    }

    fn changes_headers(&self) -> bool {
        self.action == Action::Strip
    }

    fn start(&self, _streams: &Streams) -> Filter {
        Filter(self.clone())
    }
}

/// The (empty) state of a middlebox that blocks an option.
#[derive(Clone, Debug)]
pub struct Filter(Params);

impl Impairment for Filter {
    fn option(&self) -> Option<TcpOption> {
        Some(self.0.option)
    }

    fn on_packet(&mut self, packet: &Transit) -> Effect {
        match self.0.action {
            _ if !packet.has_option => Effect::Pass,
            Action::Strip => Effect::Strip(self.0.option),
            Action::Drop => Effect::Drop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params as _;
    use alloc::string::ToString;
    use sojourn_units::Time;

    #[test]
    fn packets_without_the_option_pass() {
        let effects = |action, has_option| {
            let mut made = Params { option: TcpOption::Sack, action }.start(&Streams::new(1, "x".to_string()));
            made.on_packet(&Transit { now: Time::ZERO, size: 60, has_data: false, has_option })
        };
        assert_eq!([Action::Strip, Action::Drop].map(|action| effects(action, false)), [Effect::Pass; 2]);
        assert_eq!([Action::Strip, Action::Drop].map(|action| effects(action, true)), [Effect::Strip(TcpOption::Sack), Effect::Drop]);
    }
}
