//! Loss recovery: which segments are lost, and when they are retransmitted.
//!
//! A strategy stores its own knowledge of losses and acts on the sender through the methods of [`SenderCore`]. It is chosen once, when a
//! sender is made. To add one: a file here that implements [`LossRecovery`], a variant of [`AnyRecovery`], and its option in
//! `crates/spec/src/tcp/options.rs`.

mod loss_recovery;
mod newreno;
mod ns2_sack;
mod rack_tlp;
mod rate_halving;
mod reno;
mod retransmissions;
mod sack;
mod scoreboard;
mod tahoe;

use super::ack::AckDigest;
use super::call::{Call, SegmentSink};
use super::sender::SenderCore;
use newreno::NewReno;
use ns2_sack::Ns2Sack;
use rack_tlp::RackTlp;
use rate_halving::RateHalving;
use reno::Reno;
use sack::Sack;
use sojourn_cc::LossState;
use sojourn_spec::tcp::{Recovery, SackAlgorithm, TcpOptions};
use sojourn_units::Memory;
use tahoe::Tahoe;

pub use loss_recovery::LossRecovery;

/// Any recovery strategy.
/// Those with a scoreboard are boxed, so that senders without one stay small.
#[derive(Clone, Debug)]
pub enum AnyRecovery {
    Reno(Reno),
    NewReno(NewReno),
    Tahoe(Tahoe),
    Sack(Box<Sack>),
    Ns2Sack(Box<Ns2Sack>),
    RateHalving(Box<RateHalving>),
    RackTlp(Box<RackTlp>),
}

impl AnyRecovery {
    /// The strategy that the options of a stack select, at the start of a connection.
    pub fn new(params: &TcpOptions) -> Self {
        match (params.recovery, params.sack_algorithm) {
            (Recovery::Reno, _) => AnyRecovery::Reno(Reno::default()),
            (Recovery::NewReno, _) => AnyRecovery::NewReno(NewReno::default()),
            (Recovery::Tahoe, _) => AnyRecovery::Tahoe(Tahoe::default()),
            (Recovery::Sack, SackAlgorithm::Rfc6675) => AnyRecovery::Sack(Box::default()),
            (Recovery::Sack, SackAlgorithm::Ns2Sack1) => AnyRecovery::Ns2Sack(Box::default()),
            (Recovery::Sack, SackAlgorithm::RateHalving) => AnyRecovery::RateHalving(Box::default()),
            (Recovery::Sack, SackAlgorithm::RackTlp) => AnyRecovery::RackTlp(Box::new(RackTlp::new(params))),
        }
    }
}

/// Calls the same method on any strategy.
macro_rules! of_any {
    ($any:expr, $strategy:ident => $call:expr) => {
        match $any {
            AnyRecovery::Reno($strategy) => $call,
            AnyRecovery::NewReno($strategy) => $call,
            AnyRecovery::Tahoe($strategy) => $call,
            AnyRecovery::Sack($strategy) => $call,
            AnyRecovery::Ns2Sack($strategy) => $call,
            AnyRecovery::RateHalving($strategy) => $call,
            AnyRecovery::RackTlp($strategy) => $call,
        }
    };
}

impl LossRecovery for AnyRecovery {
    #[inline]
    fn on_ack<O: SegmentSink>(&mut self, sender: &mut SenderCore, ack: &AckDigest, call: &mut Call<O>) {
        of_any!(self, strategy => strategy.on_ack(sender, ack, call))
    }

    fn on_timer<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        of_any!(self, strategy => strategy.on_timer(sender, call));
    }

    fn reports_itself(&self) -> bool {
        of_any!(self, strategy => strategy.reports_itself())
    }

    fn send_window<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        of_any!(self, strategy => strategy.send_window(sender, call))
    }

    fn go_on_sending<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        of_any!(self, strategy => strategy.go_on_sending(sender, call))
    }

    fn on_window_update<O: SegmentSink>(&mut self, sender: &mut SenderCore, call: &mut Call<O>) {
        of_any!(self, strategy => strategy.on_window_update(sender, call))
    }

    #[inline]
    fn is_quiet(&self) -> bool {
        of_any!(self, strategy => strategy.is_quiet())
    }

    fn loss_state(&self, sender: &SenderCore) -> LossState {
        of_any!(self, strategy => strategy.loss_state(sender))
    }

    fn inflation(&self) -> u32 {
        of_any!(self, strategy => strategy.inflation())
    }

    fn check_invariants(&self, sender: &SenderCore) {
        of_any!(self, strategy => strategy.check_invariants(sender));
    }
}

impl Memory for AnyRecovery {
    fn memory(&self) -> usize {
        match self {
            AnyRecovery::Reno(_) | AnyRecovery::NewReno(_) | AnyRecovery::Tahoe(_) => 0,
            AnyRecovery::Sack(strategy) => strategy.memory(),
            AnyRecovery::Ns2Sack(strategy) => strategy.memory(),
            AnyRecovery::RateHalving(strategy) => strategy.memory(),
            AnyRecovery::RackTlp(strategy) => strategy.memory(),
        }
    }
}
