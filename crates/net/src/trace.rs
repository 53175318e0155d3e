//! Traces of a link, taken only where asked for: samples of its queue at equal steps, and the waits of its packets.

use alloc::vec::Vec;
use sojourn_units::{Duration, Probability, Time};

/// A link's queue sampled at equal steps.
#[derive(Clone, Debug)]
pub struct LinkTrace {
    /// When the next sample is due.
    pub next: Time,
    every: Duration,
    /// Times in seconds.
    pub t: Vec<f64>,
    /// Packets waiting.
    pub packets: Vec<f64>,
    /// Bytes waiting.
    pub bytes: Vec<f64>,
    /// How long a packet that arrives then would wait, in seconds, if all that wait are sent before it.
    pub delay: Vec<f64>,
    /// The discipline's probability; NaN for one that has none.
    pub probability: Vec<f64>,
    /// Bytes of all packets whose transmission has started so far.
    pub tx_started_bytes: Vec<f64>,
}

impl LinkTrace {
    /// Samples at 0, `every`, 2 `every`, ...
    pub fn new(every: Duration) -> Self {
        let every = every.max(Duration::from_nanos(1));
        LinkTrace {
            next: Time::ZERO,
            every,
            t: Vec::new(),
            packets: Vec::new(),
            bytes: Vec::new(),
            delay: Vec::new(),
            probability: Vec::new(),
            tx_started_bytes: Vec::new(),
        }
    }

    /// Takes the sample that is due.
    pub(crate) fn sample(&mut self, sample: &Sample) {
        self.t.push(self.next.as_secs_f64());
        self.packets.push(f64::from(sample.packets));
        self.bytes.push(sample.bytes as f64);
        self.delay.push(sample.delay.as_secs_f64());
        self.probability.push(sample.probability.map_or(f64::NAN, Probability::get));
        self.tx_started_bytes.push(sample.tx_started_bytes as f64);
        self.next += self.every;
    }
}

/// The wait of one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketWait {
    /// When it arrived.
    pub arrived: Time,
    /// The time from its arrival to the start of its transmission.
    pub wait: Duration,
    /// Its flow, as the packet names it.
    pub flow: u32,
    /// Its size in bytes.
    pub size: u32,
}

/// The waits of every n-th packet, in the order in which their transmissions start.
#[derive(Clone, Debug)]
pub(crate) struct WaitTrace {
    one_in: u32,
    /// Packets to leave out before the next one that is stored.
    left_out: u32,
    pub packets: Vec<PacketWait>,
}

impl WaitTrace {
    /// Stores the first packet and every `one_in`-th after it.
    pub fn new(one_in: u32) -> Self {
        WaitTrace { one_in: one_in.max(1), left_out: 0, packets: Vec::new() }
    }

    /// The transmission of the next packet starts.
    pub fn add(&mut self, packet: PacketWait) {
        if self.left_out > 0 {
            self.left_out -= 1;
        } else {
            self.packets.push(packet);
            self.left_out = self.one_in - 1;
        }
    }
}

/// A queue at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub packets: u32,
    pub bytes: u64,
    pub delay: Duration,
    pub probability: Option<Probability>,
    pub tx_started_bytes: u64,
}
