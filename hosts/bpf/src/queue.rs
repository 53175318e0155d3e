//! The laws and gates of queues in C.

use std::ffi::{c_int, c_void};

/// The measurements of an interval: `struct sample` in `queue.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CSample {
    /// Packets waiting.
    pub packets: u64,
    /// Bytes waiting.
    pub bytes: u64,
    /// Packets offered in the interval.
    pub arrived_packets: u64,
    /// Bytes offered in the interval.
    pub arrived_bytes: u64,
}

/// A packet at the gate: `struct arrival` in `queue.h`.
#[repr(C)]
pub struct CArrival {
    /// The probability with 32 bits after the point.
    pub probability: u64,
    /// The size in bytes.
    pub size: u64,
    /// Packets waiting.
    pub backlog: u64,
    /// A random number.
    pub random: u32,
}

/// The functions of a law and its gate.
#[derive(Clone, Copy)]
pub struct QueueLaw {
    /// The name of its header.
    pub name: &'static str,
    size: unsafe extern "C" fn() -> u64,
    params_size: unsafe extern "C" fn() -> u64,
    start: unsafe extern "C" fn(*mut c_void, *const u64),
    step: unsafe extern "C" fn(*mut c_void, *const u64, *const CSample) -> u64,
    signals: unsafe extern "C" fn(*mut c_void, *const u64, *const CArrival) -> c_int,
}

macro_rules! queues {
    ($($constant:ident $name:literal: $size:ident $params_size:ident $start:ident $step:ident $signals:ident;)*) => {
        $(unsafe extern "C" {
            fn $size() -> u64;
            fn $params_size() -> u64;
            fn $start(queue: *mut c_void, params: *const u64);
            fn $step(queue: *mut c_void, params: *const u64, sample: *const CSample) -> u64;
            fn $signals(queue: *mut c_void, params: *const u64, arrival: *const CArrival) -> c_int;
        }

        #[doc = concat!("The law of `", $name, ".h`.")]
        pub const $constant: QueueLaw =
            QueueLaw { name: $name, size: $size, params_size: $params_size, start: $start, step: $step, signals: $signals };)*
    };
}

queues! {
    PI "pi": pi_size pi_params_size pi_start pi_step pi_signals;
    PD "pd": pd_size pd_params_size pd_start pd_step pd_signals;
    FUZZY_RED "fuzzy_red": fuzzy_red_size fuzzy_red_params_size fuzzy_red_start fuzzy_red_step fuzzy_red_signals;
    LED "led": led_size led_params_size led_start led_step led_signals;
    CPC "cpc": cpc_size cpc_params_size cpc_start cpc_step cpc_signals;
}

/// A queue whose probability a law of the C code sets.
pub struct Queue {
    law: QueueLaw,
    params: Vec<u64>,
    /// `struct queue` of `native_queue.c`.
    state: Vec<u64>,
    /// The probability with 32 bits after the point.
    pub probability: u64,
}

impl Queue {
    /// A queue at its start.
    /// `params` are the fields of the law's `struct law_params`; missing ones at the end are 0.
    ///
    /// # Panics
    /// There are more parameters than the law has.
    pub fn new(law: QueueLaw, mut params: Vec<u64>) -> Queue {
        // SAFETY: the functions read and write no more than `size` and `params_size` bytes.
        let (size, params_size) = unsafe { ((law.size)(), (law.params_size)()) };
        assert!(params.len() <= params_size as usize / 8, "parameters of {}", law.name);
        params.resize(params_size as usize / 8, 0);
        let mut state = vec![0u64; size.div_ceil(8) as usize];
        // SAFETY: as above.
        unsafe { (law.start)(state.as_mut_ptr().cast(), params.as_ptr()) };
        Queue { law, params, state, probability: 0 }
    }

    /// Handles the end of an interval.
    pub fn step(&mut self, sample: &CSample) {
        // SAFETY: as in `new`.
        self.probability = unsafe { (self.law.step)(self.state.as_mut_ptr().cast(), self.params.as_ptr(), sample) };
    }

    /// Whether a packet is dropped or marked.
    pub fn signals(&mut self, size: u64, backlog: u64, random: u32) -> bool {
        let arrival = CArrival { probability: self.probability, size, backlog, random };
        // SAFETY: as in `new`.
        unsafe { (self.law.signals)(self.state.as_mut_ptr().cast(), self.params.as_ptr(), &arrival) != 0 }
    }
}
