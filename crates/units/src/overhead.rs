//! Link-layer overhead of packets, as in `tc stab` and CAKE.
//! Sources: Linux `sch_cake.c`, the manual page tc-cake.

use crate::{Bytes, ParamError};

/// Link-layer overhead per packet. It adds transmission time.
/// Limits, queues and the record count packets without it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Overhead {
    /// Bytes added to each packet, 0 B to 256 B, default 0 B.
    /// Examples: 18 B for DOCSIS, 38 B for Ethernet with preamble and gap, 40 B for PPPoE over ATM.
    pub per_packet: Bytes,
    /// Minimum size of a packet including `per_packet`, 0 B to 256 B, default 0 B (`mpu` of tc).
    /// Examples: 64 B for DOCSIS, 84 B for Ethernet.
    pub mpu: Bytes,
    /// Cells that carry the packet: "none" (default), "atm" or "ptm".
    pub cells: Cells,
}

/// How packets are split into cells.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Cells {
    /// No cells: frames of the packet's size (`noatm` of tc).
    #[default]
    #[cfg_attr(feature = "serde", serde(alias = "noatm"))]
    None,
    /// ATM cells of 53 bytes, each with 48 bytes of one packet; the last one is padded.
    Atm,
    /// PTM, as in VDSL2: 65 bytes for every started 64 bytes.
    Ptm,
}

/// A link layer by its name in `tc-cake`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LinkLayer {
    /// Adds nothing.
    Raw,
    /// The maximum of all ADSL variants: 48 B in ATM cells.
    Conservative,
    /// ADSL, IP over ATM, VC-Mux: 8 B in ATM cells.
    IpoaVcmux,
    /// ADSL, IP over ATM, LLC SNAP: 16 B in ATM cells.
    IpoaLlcsnap,
    /// ADSL, bridged, VC-Mux: 24 B in ATM cells.
    BridgedVcmux,
    /// ADSL, bridged, LLC SNAP: 32 B in ATM cells.
    BridgedLlcsnap,
    /// ADSL, PPP over ATM, VC-Mux: 10 B in ATM cells.
    PppoaVcmux,
    /// ADSL, PPP over ATM, LLC: 14 B in ATM cells.
    PppoaLlc,
    /// ADSL, PPPoE, VC-Mux: 32 B in ATM cells.
    PppoeVcmux,
    /// ADSL, PPPoE, LLC SNAP: 40 B in ATM cells.
    PppoeLlcsnap,
    /// VDSL2 with PPPoE: 30 B in PTM.
    PppoePtm,
    /// VDSL2, bridged: 22 B in PTM.
    BridgedPtm,
    /// A cable modem: 18 B, at least 64 B.
    Docsis,
    /// Ethernet with preamble and gap: 38 B, at least 84 B.
    Ethernet,
}

/// Link-layer overhead: a name, or numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum AnyOverhead {
    /// A keyword of `tc-cake`.
    Keyword(LinkLayer),
    /// Explicit numbers.
    Numbers(Overhead),
}

impl AnyOverhead {
    /// The overhead in numbers.
    pub fn overhead(self) -> Overhead {
        match self {
            AnyOverhead::Keyword(layer) => layer.overhead(),
            AnyOverhead::Numbers(overhead) => overhead,
        }
    }
}

impl LinkLayer {
    /// The overhead as numbers.
    pub fn overhead(self) -> Overhead {
        let (bytes, mpu, cells) = match self {
            LinkLayer::Raw => (0, 0, Cells::None),
            LinkLayer::Conservative => (48, 0, Cells::Atm),
            LinkLayer::IpoaVcmux => (8, 0, Cells::Atm),
            LinkLayer::IpoaLlcsnap => (16, 0, Cells::Atm),
            LinkLayer::BridgedVcmux => (24, 0, Cells::Atm),
            LinkLayer::BridgedLlcsnap => (32, 0, Cells::Atm),
            LinkLayer::PppoaVcmux => (10, 0, Cells::Atm),
            LinkLayer::PppoaLlc => (14, 0, Cells::Atm),
            LinkLayer::PppoeVcmux => (32, 0, Cells::Atm),
            LinkLayer::PppoeLlcsnap => (40, 0, Cells::Atm),
            LinkLayer::PppoePtm => (30, 0, Cells::Ptm),
            LinkLayer::BridgedPtm => (22, 0, Cells::Ptm),
            LinkLayer::Docsis => (18, 64, Cells::None),
            LinkLayer::Ethernet => (38, 84, Cells::None),
        };
        Overhead { per_packet: Bytes(bytes), mpu: Bytes(mpu), cells }
    }
}

impl Overhead {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter that is out of range.
    pub fn check(&self) -> Result<(), ParamError> {
        for (field, size) in [("overhead.per_packet", self.per_packet), ("overhead.mpu", self.mpu)] {
            ParamError::unless(size.0 <= 256, field, &size, "a size of 0 B to 256 B")?;
        }
        Ok(())
    }

    /// The bytes that a packet of `size` bytes occupies on the link.
    pub fn on_link(&self, size: u32) -> u32 {
        let framed = (size + self.per_packet.0 as u32).max(self.mpu.0 as u32);
        match self.cells {
            Cells::None => framed,
            Cells::Atm => framed.div_ceil(48) * 53,
            Cells::Ptm => framed + framed.div_ceil(64),
        }
    }
}

#[cfg(feature = "serde")]
mod reading {
    use super::{AnyOverhead, LinkLayer, Overhead};
    use core::fmt;
    use serde::de::value::{MapAccessDeserializer, StrDeserializer};
    use serde::de::{Error, MapAccess, Visitor};
    use serde::{Deserialize, Deserializer};

    impl<'de> Deserialize<'de> for AnyOverhead {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(Reader)
        }
    }

    struct Reader;

    impl<'de> Visitor<'de> for Reader {
        type Value = AnyOverhead;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a link layer such as \"docsis\", or a table such as { per_packet = \"18 B\", mpu = \"64 B\" }")
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<AnyOverhead, E> {
            LinkLayer::deserialize(StrDeserializer::new(name)).map(AnyOverhead::Keyword)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<AnyOverhead, A::Error> {
            Overhead::deserialize(MapAccessDeserializer::new(map)).map(AnyOverhead::Numbers)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_what_the_link_layer_makes_of_it() {
        let with = |per_packet, mpu, cells| Overhead { per_packet: Bytes(per_packet), mpu: Bytes(mpu), cells };
        // PPPoE over ATM: an ACK of 40 bytes takes two cells, a full packet 33 (1500 + 40 = 1540).
        let atm = LinkLayer::PppoeLlcsnap.overhead();
        assert_eq!([40, 1500].map(|size| atm.on_link(size)), [106, 33 * 53]);
        // DOCSIS: the minimum frame has 64 bytes.
        assert_eq!([40, 46, 1500].map(|size| LinkLayer::Docsis.overhead().on_link(size)), [64, 64, 1518]);
        assert_eq!([64, 65, 1500].map(|size| with(0, 0, Cells::Ptm).on_link(size)), [65, 67, 1524]);
        assert_eq!(Overhead::default().on_link(1500), 1500);
        assert!(with(257, 0, Cells::None).check().is_err() && with(0, 300, Cells::None).check().is_err());
    }
}
