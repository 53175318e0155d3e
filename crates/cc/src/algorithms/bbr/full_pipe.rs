//! Detects a full pipe: the bandwidth has hardly grown for some rounds.

/// The growth that shows that the pipe is not full (Linux `bbr_full_bw_thresh`).
/// The number of rounds without it that shows that it is full (Linux `bbr_full_bw_cnt`).
const GROWTH: f64 = 1.25;
const ROUNDS: u32 = 3;

/// The bandwidth at its last growth.
#[derive(Clone, Copy, Default, Debug)]
pub struct FullPipe {
    bandwidth: f64,
    rounds: u32,
    /// Whether the pipe was found full.
    pub reached: bool,
}

impl FullPipe {
    /// Processes a round in which the application did not limit the sender.
    /// `bandwidth` is the maximum (`bbr_check_full_bw_reached`).
    pub fn on_round(&mut self, bandwidth: f64) {
        if self.reached {
            return;
        }
        if bandwidth >= self.bandwidth * GROWTH {
            (self.bandwidth, self.rounds) = (bandwidth, 0);
            return;
        }
        self.rounds += 1;
        self.reached = self.rounds >= ROUNDS;
    }

    /// Counts the next round after a timeout as growth (`bbr_set_state`).
    pub fn forget_bandwidth(&mut self) {
        self.bandwidth = 0.0;
    }

    /// Restarts the detection after a reduction without a loss (`bbr_undo_cwnd`).
    pub fn restart(&mut self) {
        (self.bandwidth, self.rounds) = (0.0, 0);
    }
}
