//! The laws of the BPF programs, compiled as ordinary C.

pub mod queue;
pub mod sampled;

use sojourn_cc::Ack;
use std::ffi::c_void;

/// A whole segment in the C code's numbers.
pub const ONE: f64 = 4_294_967_296.0;

/// An ACK as the C code receives it: `struct ack` in `law.h`.
#[repr(C)]
pub struct CAck {
    now: u64,
    rtt: u64,
    srtt: u64,
    snd_una: u64,
    snd_max: u64,
    acked: u32,
    in_flight: u32,
    cwnd_limited: u32,
    in_recovery: u32,
}

impl From<&Ack> for CAck {
    fn from(ack: &Ack) -> CAck {
        CAck {
            now: ack.now.as_nanos(),
            rtt: ack.rtt.map_or(0, |rtt| rtt.as_nanos()),
            srtt: ack.srtt.as_nanos(),
            snd_una: ack.snd_una,
            snd_max: ack.snd_max,
            acked: ack.acked as u32,
            in_flight: ack.in_flight as u32,
            cwnd_limited: u32::from(ack.cwnd_limited),
            in_recovery: u32::from(ack.in_recovery),
        }
    }
}

/// The functions of a law.
#[derive(Clone, Copy)]
pub struct Law {
    /// The name of its header.
    pub name: &'static str,
    size: unsafe extern "C" fn() -> u64,
    params_size: unsafe extern "C" fn() -> u64,
    start: unsafe extern "C" fn(*mut c_void, u64),
    on_ack: unsafe extern "C" fn(*mut c_void, *const u64, *const CAck),
    on_congestion: unsafe extern "C" fn(*mut c_void, *const u64, u64, u64),
    on_rto: unsafe extern "C" fn(*mut c_void, *const u64, u64, u64),
}

macro_rules! laws {
    ($($constant:ident $name:literal: $size:ident $params_size:ident $start:ident $on_ack:ident $on_congestion:ident $on_rto:ident;)*) => {
        $(unsafe extern "C" {
            fn $size() -> u64;
            fn $params_size() -> u64;
            fn $start(connection: *mut c_void, cwnd: u64);
            fn $on_ack(connection: *mut c_void, params: *const u64, ack: *const CAck);
            fn $on_congestion(connection: *mut c_void, params: *const u64, now: u64, in_use: u64);
            fn $on_rto(connection: *mut c_void, params: *const u64, now: u64, in_use: u64);
        }

        #[doc = concat!("The law of `", $name, ".h`.")]
        pub const $constant: Law = Law {
            name: $name,
            size: $size,
            params_size: $params_size,
            start: $start,
            on_ack: $on_ack,
            on_congestion: $on_congestion,
            on_rto: $on_rto,
        };)*
    };
}

laws! {
    LEDBAT "ledbat": ledbat_size ledbat_params_size ledbat_start ledbat_on_ack ledbat_on_congestion ledbat_on_rto;
    LEDBATPP "ledbatpp": ledbatpp_size ledbatpp_params_size ledbatpp_start ledbatpp_on_ack ledbatpp_on_congestion ledbatpp_on_rto;
    FLOWER "flower": flower_size flower_params_size flower_start flower_on_ack flower_on_congestion flower_on_rto;
    FLOWER_PLUS "flower_plus": flower_plus_size flower_plus_params_size flower_plus_start flower_plus_on_ack flower_plus_on_congestion flower_plus_on_rto;
}

/// A connection whose window a law of the C code sets.
pub struct Connection {
    law: Law,
    params: Vec<u64>,
    /// `struct connection` of `native.c`, which begins with the windows.
    state: Vec<u64>,
}

impl Connection {
    /// A connection with a window of `cwnd` segments.
    /// `params` are the fields of the law's `struct law_params`.
    ///
    /// # Panics
    /// There are more or fewer parameters than the law has.
    pub fn new(law: Law, params: &[u64], cwnd: f64) -> Connection {
        // SAFETY: the functions read and write no more than `size` and `params_size` bytes.
        let (size, params_size) = unsafe { ((law.size)(), (law.params_size)()) };
        assert_eq!(params_size as usize, 8 * params.len(), "parameters of {}", law.name);
        let mut state = vec![0u64; size.div_ceil(8) as usize];
        // SAFETY: as above.
        unsafe { (law.start)(state.as_mut_ptr().cast(), (cwnd * ONE) as u64) };
        Connection { law, params: params.to_vec(), state }
    }

    /// Handles an ACK.
    pub fn on_ack(&mut self, ack: &Ack) {
        // SAFETY: as in `new`.
        unsafe { (self.law.on_ack)(self.state.as_mut_ptr().cast(), self.params.as_ptr(), &CAck::from(ack)) }
    }

    /// Handles congestion with the window in use.
    pub fn on_congestion(&mut self, now: u64) {
        // SAFETY: as in `new`.
        unsafe { (self.law.on_congestion)(self.state.as_mut_ptr().cast(), self.params.as_ptr(), now, self.state[0]) }
    }

    /// Handles a timeout with the window in use.
    pub fn on_rto(&mut self, now: u64) {
        // SAFETY: as in `new`.
        unsafe { (self.law.on_rto)(self.state.as_mut_ptr().cast(), self.params.as_ptr(), now, self.state[0]) }
    }

    /// The window in segments.
    pub fn cwnd(&self) -> f64 {
        self.state[0] as f64 / ONE
    }

    /// The slow-start threshold in segments; infinite before the first reduction.
    pub fn ssthresh(&self) -> f64 {
        if self.state[1] == u64::MAX { f64::INFINITY } else { self.state[1] as f64 / ONE }
    }
}
