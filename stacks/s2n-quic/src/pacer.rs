//! Departure times of packets.

use s2n_quic::provider::congestion_controller::Timestamp;
use sojourn_cc::{Driver, Pace};
use std::time::Duration;

/// Packets of this quantum, those of the initial window (rfc9002#7.7).
const BURST: u64 = 10;

/// Lets bursts of a quantum leave at a rate.
#[derive(Clone, Default, Debug)]
pub struct Pacer {
    /// Bytes sent in the present burst.
    burst: u64,
    departure: Option<Timestamp>,
}

impl Pacer {
    /// The pace of a controller that wants none: 1.25 windows a round trip, and two in slow start.
    pub fn pace_of_window(driver: &Driver, packet: u64, srtt: Option<Duration>) -> Option<Pace> {
        let slow_start = driver.ssthresh().is_none_or(|threshold| driver.window() < threshold);
        let factor = if slow_start { 2.0 } else { 1.25 };
        let rate = factor * driver.window() as f64 / srtt?.as_secs_f64();
        Some(Pace { rate: rate as u64, quantum: BURST * packet })
    }

    /// A packet is sent.
    pub fn sent(&mut self, now: Timestamp, bytes: u64, Pace { rate, quantum }: Pace) {
        self.burst += bytes;
        if self.burst >= quantum && rate > 0 {
            let interval = Duration::from_secs_f64(self.burst as f64 / rate as f64);
            // A late packet is made up for, by at most one burst.
            let late = now.checked_sub(interval);
            self.departure = Some(self.departure.into_iter().chain(late).max().unwrap_or(now) + interval);
            self.burst = 0;
        }
    }

    /// The earliest time of the next packet.
    pub fn departure(&self) -> Option<Timestamp> {
        self.departure
    }
}
