//! The state of receivers that delay ACKs or limit their window.
//! A receiver that acknowledges each segment at once with an unlimited window has none.

use super::ack_policy::AckPolicy;
use super::receive_window::ReceiveWindow;
use crate::tcp::ecn::ByteCounter;
use sojourn_cc::ParamError;
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Memory, Plain, Time, memory_of};

/// The times of ACKs that may wait, and the window that they advertise.
#[derive(Clone, Debug)]
pub struct AckRules {
    /// When a delayed ACK is due.
    pub delayed_ack_due: Time,
    /// The time of the receiver's pending timer event, or never.
    pub armed: Time,
    /// The window to advertise, where it is limited.
    pub window: Option<Box<ReceiveWindow>>,
    /// The policy of ACKs, where the plain rules are not enough.
    pub policy: Option<AckPolicy>,
    /// The counts of bytes, where segments carry `AccECN`'s option.
    pub bytes: Option<Box<ByteCounter>>,
}

impl AckRules {
    /// The state that these options need; `None` if they need none.
    ///
    /// # Errors
    /// A parameter of the congestion controller is out of range.
    pub fn new(params: &TcpOptions) -> Result<Option<Box<Self>>, ParamError> {
        let (window, policy, bytes) = (ReceiveWindow::new(params)?, AckPolicy::new(params), ByteCounter::new(params));
        let asked = params.delayed_ack.is_some() || window.is_some() || policy.is_some() || bytes.is_some();
        Ok(asked.then(|| Box::new(AckRules { delayed_ack_due: Time::NEVER, armed: Time::NEVER, window, policy, bytes })))
    }

    /// The next segment in order arrives, and there is nothing else to report.
    /// `segments` and `bytes` are all that wait for an ACK, this segment included.
    /// Returns whether they go on waiting.
    #[inline(always)]
    pub fn on_next_segment(&mut self, now: Time, segments: u32, bytes: u64, params: &TcpOptions) -> bool {
        if let Some(policy) = &mut self.policy {
            self.delayed_ack_due = policy.on_next_segment(now, bytes, params);
            return self.delayed_ack_due > now;
        }
        let delay = params.delayed_ack.filter(|_| segments < params.ack_every);
        delay.into_iter().for_each(|delay| self.delay(now, delay));
        delay.is_some()
    }

    /// Lets an ACK wait for this long, or for an ACK that waits already.
    pub fn delay(&mut self, now: Time, delay: Duration) {
        if self.delayed_ack_due == Time::NEVER {
            self.delayed_ack_due = now + delay;
        }
    }

    /// An ACK is sent; returns the duplicate that it reports.
    #[inline]
    pub fn on_ack_sent(&mut self, params: &TcpOptions) -> Option<(u64, u64)> {
        self.delayed_ack_due = Time::NEVER;
        self.policy.as_mut()?.on_ack_sent(params)
    }

    /// A segment of data arrives: forgets a duplicate that no ACK has reported yet.
    /// Source: Linux `tcp_data_queue`.
    #[inline]
    pub fn forget_duplicate(&mut self) {
        self.policy.iter_mut().for_each(|policy| policy.duplicate = None);
        self.bytes.iter_mut().for_each(|counter| counter.forget_duplicate());
    }

    /// These bytes arrived once more.
    #[cold]
    pub fn on_duplicate(&mut self, bytes: (u64, u64)) {
        self.policy.iter_mut().for_each(|policy| policy.duplicate = Some(bytes));
        self.bytes.iter_mut().for_each(|counter| counter.on_duplicate(bytes.0));
    }
}

impl Memory for AckRules {
    fn memory(&self) -> usize {
        memory_of([&self.window, &Plain(&self.bytes)])
    }
}
