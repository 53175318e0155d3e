//! The load of a flow's direction on a link, per tenth of a second.

/// A tenth of a second, in ns.
pub const STEP: u64 = 100_000_000;

/// The bytes of each tenth of a second that has packets.
#[derive(Clone, Default, Debug)]
pub struct Load {
    /// The interface at which bytes are counted: the first with a packet.
    /// Other interfaces see the same packets.
    pub interface: Option<usize>,
    /// Tenths of seconds since the first packet of the capture, and the bytes in each.
    pub tenths: Vec<(u64, u64)>,
}

impl Load {
    /// Adds the bytes of a packet. Returns whether they are counted.
    pub fn add(&mut self, interface: usize, at: u64, bytes: u64) -> bool {
        if *self.interface.get_or_insert(interface) != interface {
            return false;
        }
        let tenth = at / STEP;
        match self.tenths.last_mut() {
            Some((last, sum)) if *last == tenth => *sum += bytes,
            _ => self.tenths.push((tenth, bytes)),
        }
        true
    }

    /// The number of bytes in the whole capture.
    pub fn bytes(&self) -> u64 {
        self.tenths.iter().map(|(_, bytes)| bytes).sum()
    }
}
