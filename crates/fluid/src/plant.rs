//! The plant: flows and the link whose queue they share.

/// Flows with the same parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Class {
    /// The number of flows.
    pub flows: f64,
    /// The round-trip time without the queue, in seconds.
    pub delay: f64,
    /// The growth of a window in a round-trip time, in packets.
    /// 1 for Reno; less if an ACK acknowledges more than one packet.
    pub increase: f64,
    /// The share of a window that a signal (drop or mark) removes: 1/2 for Reno.
    pub decrease: f64,
}

impl Class {
    /// Reno with an ACK per packet.
    pub fn reno(flows: f64, delay: f64) -> Self {
        Class { flows, delay, increase: 1.0, decrease: 0.5 }
    }

    /// The factor k of the window k/sqrt(p) at probability p.
    pub(crate) fn scale(&self) -> f64 {
        (self.increase / self.decrease).sqrt()
    }
}

/// The flows and the link.
#[derive(Clone, PartialEq, Debug)]
pub struct Plant {
    /// The flows.
    pub classes: Vec<Class>,
    /// The link's rate in packets per second.
    pub capacity: f64,
    /// The maximum number of waiting packets; infinite without a limit.
    pub limit: f64,
    /// The size of a packet in bytes.
    pub packet: f64,
    /// Whether a signal is a drop, so that the packet does not enter the queue, or a mark.
    pub drops: bool,
}

/// A number of a plant or a run that is out of range.
/// The message contains the field, the expectation and the number.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// Returns an error unless `fine`.
pub(crate) fn refuse_unless(fine: bool, message: impl FnOnce() -> String) -> Result<(), Refused> {
    if fine { Ok(()) } else { Err(Refused(message())) }
}

/// The maximum number of classes.
const MAX_CLASSES: usize = 1000;

impl Plant {
    /// Checks the range of every number.
    ///
    /// # Errors
    /// The first number out of range.
    pub fn check(&self) -> Result<(), Refused> {
        let count = self.classes.len();
        refuse_unless((1..=MAX_CLASSES).contains(&count), || format!("classes: expected 1 to {MAX_CLASSES}, got {count}"))?;
        let positive = |v: f64| v > 0.0 && v.is_finite();
        for (i, class) in self.classes.iter().enumerate() {
            let Class { flows, delay, increase, decrease } = *class;
            refuse_unless(flows >= 0.0 && flows.is_finite(), || format!("classes[{i}].flows: expected 0 or more, got {flows}"))?;
            refuse_unless(positive(delay), || format!("classes[{i}].delay: expected seconds above 0, got {delay}"))?;
            refuse_unless(positive(increase), || format!("classes[{i}].increase: expected packets above 0, got {increase}"))?;
            let share = decrease > 0.0 && decrease <= 1.0;
            refuse_unless(share, || format!("classes[{i}].decrease: expected a share above 0, up to 1, got {decrease}"))?;
        }
        refuse_unless(self.classes.iter().any(|class| class.flows > 0.0), || "classes: expected flows in some class, got none".into())?;
        refuse_unless(positive(self.capacity), || format!("capacity: expected packets a second above 0, got {}", self.capacity))?;
        refuse_unless(positive(self.packet), || format!("packet: expected bytes above 0, got {}", self.packet))?;
        refuse_unless(self.limit > 0.0, || format!("limit: expected packets above 0, got {}", self.limit))
    }

    /// The shortest round-trip time without the queue, in seconds.
    pub(crate) fn shortest_delay(&self) -> f64 {
        self.classes.iter().map(|class| class.delay).fold(f64::INFINITY, f64::min)
    }
}
