//! Whether the pipe is full: the bandwidth has hardly grown for some rounds.

/// Growth that shows that the pipe is not full, and rounds without it that show that it is (Linux `bbr_full_bw_thresh`,
/// `bbr_full_bw_cnt`).
const GROWTH: f64 = 1.25;
const ROUNDS: u32 = 3;

/// What the bandwidth was when it last grew.
#[derive(Clone, Copy, Default, Debug)]
pub struct FullPipe {
    bandwidth: f64,
    rounds: u32,
    /// Whether it has been found full.
    pub reached: bool,
}

impl FullPipe {
    /// A round has ended in which the application did not limit the sender; the greatest bandwidth is this (`bbr_check_full_bw_reached`).
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

    /// After a timeout the next round counts as growth (`bbr_set_state`).
    pub fn forget_bandwidth(&mut self) {
        self.bandwidth = 0.0;
    }

    /// After a reduction without a loss it begins anew (`bbr_undo_cwnd`).
    pub fn restart(&mut self) {
        (self.bandwidth, self.rounds) = (0.0, 0);
    }
}
