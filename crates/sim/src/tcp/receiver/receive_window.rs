//! The window that a receiver advertises where it is limited.
//! The limit is a buffer that an application empties, or the congestion controller's part at the receiver.

use sojourn_cc::algorithms::rledbat;
use sojourn_cc::{ParamError, Start};
use sojourn_spec::tcp::TcpOptions;
use sojourn_units::{Duration, Memory, Plain, Rate, Time};

/// The receive window of one connection.
#[derive(Clone, Debug)]
pub struct ReceiveWindow {
    read: ReadProgress,
    /// One past the last byte that the window has allowed so far.
    right_edge: u64,
    /// The time at which the window will be large enough for an ACK that advertises it.
    pub update_due: Time,
    /// The congestion controller's part at the receiver, which limits the window too.
    pub controller: Option<Box<rledbat::Receiver>>,
}

/// The bytes read at a time since which the application has read without a pause.
#[derive(Clone, Copy, Debug)]
struct ReadProgress {
    bytes: u64,
    since: Time,
}

impl ReceiveWindow {
    /// The window of a new connection; `None` if it is unlimited.
    ///
    /// # Errors
    /// A parameter of the congestion controller is out of range.
    pub fn new(params: &TcpOptions) -> Result<Option<Box<Self>>, ParamError> {
        let start = Start::new(params.initial_window, params.initial_ssthresh);
        let controller = params.control.build_receiver(start, params.mss)?.map(Box::new);
        let limited = params.reader.is_some() || controller.is_some();
        let read = ReadProgress { bytes: 0, since: Time::ZERO };
        Ok(limited.then(|| Box::new(ReceiveWindow { read, right_edge: 0, update_due: Time::NEVER, controller })))
    }

    /// The bytes that the application has read by `now`, at most the readable `rcv_nxt`.
    fn read_by(&self, now: Time, rate: Rate, rcv_nxt: u64) -> u64 {
        (self.read.bytes + rate.bytes_in(now.since(self.read.since))).min(rcv_nxt)
    }

    /// A segment arrives at `now`, when everything before `rcv_nxt` was readable.
    /// If the application has read all of it, its reading starts again now.
    pub fn on_segment(&mut self, now: Time, rcv_nxt: u64, params: &TcpOptions) {
        if let Some(rate) = params.reader
            && self.read_by(now, rate, rcv_nxt) == rcv_nxt
        {
            self.read = ReadProgress { bytes: rcv_nxt, since: now };
        }
    }

    /// The window to advertise at `now`, in whole segments.
    /// It is what is left of the buffer, or less where the controller asks for that.
    #[inline(never)]
    pub fn advertise(&mut self, now: Time, rcv_nxt: u64, params: &TcpOptions) -> u16 {
        let left = self.buffer_left(now, rcv_nxt, params);
        self.controller.as_mut().map_or(left, |controller| controller.advertise(rcv_nxt).min(u64::from(left)) as u16)
    }

    /// What is left of the buffer at `now`, in whole segments; `u16::MAX` if unlimited.
    fn buffer_left(&mut self, now: Time, rcv_nxt: u64, params: &TcpOptions) -> u16 {
        let Some(rate) = params.reader else { return u16::MAX };
        let mss = u64::from(params.mss);
        let unread = rcv_nxt - self.read_by(now, rate, rcv_nxt);
        let segments = ((u64::from(params.window) * mss).saturating_sub(unread) / mss).min(u64::from(u16::MAX - 1));
        self.right_edge = rcv_nxt + segments * mss;
        self.plan_update(now, rcv_nxt, params);
        segments as u16
    }

    /// Finds when the window will be enough wider than advertised to send an update.
    /// That is two segments or half the buffer, whichever is less, if the application goes on reading (rfc9293#3.8.6.2.2).
    pub fn plan_update(&mut self, now: Time, rcv_nxt: u64, params: &TcpOptions) {
        let Some(rate) = params.reader else { return };
        let (mss, window) = (u64::from(params.mss), u64::from(params.window));
        let wider = self.right_edge.saturating_sub(rcv_nxt) / mss + window.div_ceil(2).min(2);
        let unread = window.saturating_sub(wider) * mss;
        let readable_from = self.read.bytes + unread;
        self.update_due = if wider <= window && rcv_nxt > readable_from {
            let bits = u128::from(rcv_nxt - readable_from) * 8_000_000_000;
            (self.read.since + Duration::from_nanos(bits.div_ceil(u128::from(rate.as_bps())) as u64)).max(now)
        } else {
            Time::NEVER
        };
    }
}

impl Memory for ReceiveWindow {
    fn memory(&self) -> usize {
        Plain(&self.controller).memory()
    }
}
