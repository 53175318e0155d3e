//! The laws over delivery-rate samples in C.

use crate::ONE;
use sojourn_cc::{LossState, LostSegment, RateSample};
use sojourn_units::Time;
use std::ffi::c_void;

/// Random numbers of an event: `struct draws` in `sampled.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CDraws {
    /// 0 or 1.
    pub coin: u64,
    /// Nanoseconds, below a second.
    pub time: u64,
}

/// A sample as the C code receives it: `struct sample` in `sampled.h`.
#[repr(C)]
pub struct CRateSample {
    now: u64,
    rtt: u64,
    srtt: u64,
    delivery_rate: u64,
    delivered_total: u64,
    prior_delivered: u64,
    delivered: u64,
    lost: u64,
    tx_in_flight: u64,
    newly_acked: u64,
    newly_lost: u64,
    in_flight: u64,
    is_app_limited: u64,
    is_cwnd_limited: u64,
    selective_acks: u64,
    state: u64,
    draws: CDraws,
}

/// `struct lost` in `sampled.h`.
#[repr(C)]
pub struct CLost {
    now: u64,
    size: u64,
    tx_in_flight: u64,
    lost: u64,
    is_app_limited: u64,
    delivered_total: u64,
    contiguous: u64,
    selective_acks: u64,
    draws: CDraws,
}

/// `struct restart` in `sampled.h`.
#[repr(C)]
pub struct CRestart {
    now: u64,
    srtt: u64,
    app_limited: u64,
    draws: CDraws,
}

/// The functions of a law over samples.
#[derive(Clone, Copy)]
pub struct SampledLaw {
    /// The name of its header.
    pub name: &'static str,
    size: unsafe extern "C" fn() -> u64,
    params_size: unsafe extern "C" fn() -> u64,
    start: unsafe extern "C" fn(*mut c_void, *const u64, u64),
    on_sample: unsafe extern "C" fn(*mut c_void, *const u64, *const CRateSample),
    on_lost: unsafe extern "C" fn(*mut c_void, *const u64, *const CLost),
    on_congestion: unsafe extern "C" fn(*mut c_void, u64),
    on_rto: unsafe extern "C" fn(*mut c_void, u64),
    on_restart: unsafe extern "C" fn(*mut c_void, *const u64, *const CRestart),
    on_spurious: unsafe extern "C" fn(*mut c_void),
}

unsafe extern "C" {
    fn bbr3_size() -> u64;
    fn bbr3_params_size() -> u64;
    fn bbr3_start(law: *mut c_void, params: *const u64, cwnd: u64);
    fn bbr3_on_sample(law: *mut c_void, params: *const u64, sample: *const CRateSample);
    fn bbr3_on_lost(law: *mut c_void, params: *const u64, lost: *const CLost);
    fn bbr3_on_congestion(law: *mut c_void, is_loss: u64);
    fn bbr3_on_rto(law: *mut c_void, cwnd: u64);
    fn bbr3_on_restart(law: *mut c_void, params: *const u64, restart: *const CRestart);
    fn bbr3_on_spurious(law: *mut c_void);
}

/// The law of `bbr3.h`.
pub const BBR3: SampledLaw = SampledLaw {
    name: "bbr3",
    size: bbr3_size,
    params_size: bbr3_params_size,
    start: bbr3_start,
    on_sample: bbr3_on_sample,
    on_lost: bbr3_on_lost,
    on_congestion: bbr3_on_congestion,
    on_rto: bbr3_on_rto,
    on_restart: bbr3_on_restart,
    on_spurious: bbr3_on_spurious,
};

/// A connection whose window and pacing rate a law of the C code sets.
pub struct SampledConnection {
    law: SampledLaw,
    params: Vec<u64>,
    /// `struct law` of the header.
    /// It begins with the window, the pacing rate, and the number of events that used random numbers.
    state: Vec<u64>,
}

impl SampledConnection {
    /// A connection with a window of `cwnd` segments.
    /// `params` are the fields of the law's `struct law_params`.
    ///
    /// # Panics
    /// There are more or fewer parameters than the law has.
    pub fn new(law: SampledLaw, params: &[u64], cwnd: u64) -> SampledConnection {
        // SAFETY: the functions read and write no more than `size` and `params_size` bytes.
        let (size, params_size) = unsafe { ((law.size)(), (law.params_size)()) };
        assert_eq!(params_size as usize, 8 * params.len(), "parameters of {}", law.name);
        let mut state = vec![0u64; size.div_ceil(8) as usize];
        // SAFETY: as above.
        unsafe { (law.start)(state.as_mut_ptr().cast(), params.as_ptr(), cwnd << 32) };
        SampledConnection { law, params: params.to_vec(), state }
    }

    /// Handles an ACK.
    pub fn on_sample(&mut self, sample: &RateSample, draws: CDraws) {
        let given = CRateSample {
            now: sample.now.as_nanos(),
            rtt: sample.rtt.map_or(0, |rtt| rtt.as_nanos()),
            srtt: sample.srtt.as_nanos(),
            delivery_rate: (sample.delivery_rate * ONE) as u64,
            delivered_total: sample.delivered_total as u64,
            prior_delivered: sample.prior_delivered.map_or(u64::MAX, |prior| prior as u64),
            delivered: sample.delivered as u64,
            lost: sample.lost as u64,
            tx_in_flight: sample.tx_in_flight as u64,
            newly_acked: sample.newly_acked as u64,
            newly_lost: sample.newly_lost as u64,
            in_flight: sample.in_flight as u64,
            is_app_limited: sample.is_app_limited.into(),
            is_cwnd_limited: sample.is_cwnd_limited.into(),
            selective_acks: sample.selective_acks.into(),
            state: match sample.state {
                LossState::Open => 0,
                LossState::Recovery => 1,
                LossState::Timeout => 2,
            },
            draws,
        };
        // SAFETY: as in `new`.
        unsafe { (self.law.on_sample)(self.state.as_mut_ptr().cast(), self.params.as_ptr(), &given) }
    }

    /// Handles lost segments.
    pub fn on_lost(&mut self, lost: &LostSegment, draws: CDraws) {
        let given = CLost {
            now: lost.now.as_nanos(),
            size: lost.size as u64,
            tx_in_flight: lost.tx_in_flight as u64,
            lost: lost.lost as u64,
            is_app_limited: lost.is_app_limited.into(),
            delivered_total: lost.delivered_total as u64,
            contiguous: lost.contiguous.into(),
            selective_acks: lost.selective_acks.into(),
            draws,
        };
        // SAFETY: as in `new`.
        unsafe { (self.law.on_lost)(self.state.as_mut_ptr().cast(), self.params.as_ptr(), &given) }
    }

    /// Handles the start of a recovery, or a mark.
    pub fn on_congestion(&mut self, is_loss: bool) {
        // SAFETY: as in `new`.
        unsafe { (self.law.on_congestion)(self.state.as_mut_ptr().cast(), is_loss.into()) }
    }

    /// Handles a timeout after which the window has `cwnd` segments.
    pub fn on_rto(&mut self, cwnd: u64) {
        // SAFETY: as in `new`.
        unsafe { (self.law.on_rto)(self.state.as_mut_ptr().cast(), cwnd << 32) }
    }

    /// Handles data that is sent while nothing is in flight. The smoothed RTT is in nanoseconds.
    pub fn on_restart(&mut self, now: Time, srtt: u64, app_limited: bool, draws: CDraws) {
        let given = CRestart { now: now.as_nanos(), srtt, app_limited: app_limited.into(), draws };
        // SAFETY: as in `new`.
        unsafe { (self.law.on_restart)(self.state.as_mut_ptr().cast(), self.params.as_ptr(), &given) }
    }

    /// Handles the news that all losses of a recovery were spurious.
    pub fn on_spurious(&mut self) {
        // SAFETY: as in `new`.
        unsafe { (self.law.on_spurious)(self.state.as_mut_ptr().cast()) }
    }

    /// The window in segments.
    pub fn cwnd(&self) -> f64 {
        self.state[0] as f64 / ONE
    }

    /// The pacing rate in segments per second.
    pub fn pacing_rate(&self) -> f64 {
        self.state[1] as f64 / ONE
    }

    /// How many events used their random numbers.
    pub fn drawn(&self) -> u64 {
        self.state[2]
    }
}
