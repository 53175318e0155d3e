//! What a receiver has that does not acknowledge each segment at once with an unlimited window.

use super::ack_policy::AckPolicy;
use super::receive_window::ReceiveWindow;
use crate::tcp::ecn::ByteCounter;
use sojourn_cc::ParamError;
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Memory, Plain, Time, memory_of};

/// When ACKs are sent that may wait, and the window that they advertise.
#[derive(Clone, Debug)]
pub struct AckRules {
    /// When a delayed ACK is due.
    pub delayed_ack_due: Time,
    /// The time of the receiver's pending timer event, or never.
    pub armed: Time,
    /// The window to advertise, where that is limited.
    pub window: Option<Box<ReceiveWindow>>,
    /// When to acknowledge, where that is more than the plain rules.
    pub policy: Option<AckPolicy>,
    /// The counts of bytes, where segments have `AccECN`'s option.
    pub bytes: Option<Box<ByteCounter>>,
}

impl AckRules {
    /// What these options ask for; `None` if they ask for nothing.
    ///
    /// # Errors
    /// A parameter of the congestion controller is out of range.
    pub fn new(params: &TcpOptions) -> Result<Option<Box<Self>>, ParamError> {
        let (window, policy, bytes) = (ReceiveWindow::new(params)?, AckPolicy::new(params), ByteCounter::new(params));
        let asked = params.delayed_ack.is_some() || window.is_some() || policy.is_some() || bytes.is_some();
        Ok(asked.then(|| Box::new(AckRules { delayed_ack_due: Time::NEVER, armed: Time::NEVER, window, policy, bytes })))
    }

    /// The next segment in order arrives, where there is nothing else to tell. So many segments and bytes wait for an ACK with it: says
    /// whether they go on to wait.
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

    /// An ACK may wait for so long, or for one that waits already.
    pub fn delay(&mut self, now: Time, delay: Duration) {
        if self.delayed_ack_due == Time::NEVER {
            self.delayed_ack_due = now + delay;
        }
    }

    /// An ACK is sent: gives the duplicate that it reports.
    #[inline]
    pub fn on_ack_sent(&mut self, params: &TcpOptions) -> Option<(u64, u64)> {
        self.delayed_ack_due = Time::NEVER;
        self.policy.as_mut()?.on_ack_sent(params)
    }

    /// A segment of data arrives: a duplicate that no ACK has reported yet is forgotten (Linux `tcp_data_queue`).
    #[inline]
    pub fn forget_duplicate(&mut self) {
        self.policy.iter_mut().for_each(|policy| policy.duplicate = None);
        self.bytes.iter_mut().for_each(|counter| counter.forget_duplicate());
    }

    /// These bytes have arrived once more.
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
