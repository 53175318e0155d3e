//! Proportional rate reduction: spreads a reduction over the ACKs of a round trip.
//! Source: rfc9937, before rfc6937. As in Linux it starts from the whole window, in the RFC from the data in flight (`RecoverFS`).

/// The counters of a reduction.
#[derive(Clone, Debug, Default)]
pub struct Prr {
    /// The window to reach (`ssthresh`).
    pub target: u32,
    /// The window before the reduction (`RecoverFS`).
    pub prior_cwnd: u32,
    /// Segments delivered since the start.
    delivered: u32,
    /// Segments sent since the start.
    pub out: u32,
}

/// The input of an ACK to the reduction.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Segments in flight now.
    pub in_flight: u32,
    /// Segments delivered.
    pub delivered: u32,
    /// Whether the cumulative ACK advanced and no further segment was found lost.
    pub safe: bool,
}

impl Prr {
    /// A reduction from one window to another begins.
    pub fn start(prior_cwnd: u32, target: u32) -> Self {
        Prr { target, prior_cwnd, delivered: 0, out: 0 }
    }

    /// The window after an ACK; at least one segment is sent in a reduction.
    pub fn on_ack(&mut self, ack: Delivery) -> u32 {
        self.delivered += ack.delivered;
        let sent = i64::from(self.out);
        let delivered = i64::from(self.delivered);
        let room = i64::from(self.target) - i64::from(ack.in_flight);
        let more = if room < 0 {
            (i64::from(self.target) * delivered + i64::from(self.prior_cwnd) - 1) / i64::from(self.prior_cwnd) - sent
        } else {
            ((delivered - sent).max(i64::from(ack.delivered)) + i64::from(ack.safe)).min(room)
        };
        ack.in_flight + more.max(i64::from(self.out == 0)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_segments_leave_for_each_that_is_sent_until_half_the_window_is_in_flight() {
        // Twenty segments, one of them lost; target 10 (rfc6937#4).
        let mut prr = Prr::start(20, 10);
        let mut in_flight = 19;
        let sent: Vec<u32> = (0..18)
            .map(|_| {
                in_flight -= 1;
                let sent = prr.on_ack(Delivery { in_flight, delivered: 1, safe: false }) - in_flight;
                prr.out += sent;
                in_flight += sent;
                sent
            })
            .collect();
        assert_eq!(sent[..6], [1, 0, 1, 0, 1, 0]);
        assert_eq!(in_flight, 10);
    }

    #[test]
    fn below_the_target_as_much_is_sent_as_arrives_and_one_more_where_the_ack_advances() {
        let mut prr = Prr::start(20, 10);
        assert_eq!(prr.on_ack(Delivery { in_flight: 4, delivered: 1, safe: false }), 5);
        prr.out = 1;
        assert_eq!(prr.on_ack(Delivery { in_flight: 4, delivered: 1, safe: true }), 6);
        assert_eq!(prr.on_ack(Delivery { in_flight: 9, delivered: 3, safe: true }), 10);
    }
}
