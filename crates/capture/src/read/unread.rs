//! Packets that can't be read, by reason.

use std::fmt;

/// The reason why a packet is neither a TCP segment nor a UDP datagram.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unread {
    /// The link layer of the capture is unknown.
    LinkType(u16),
    /// An Ethernet frame carries something other than IP.
    EtherType(u16),
    /// A frame has an 802.2 header without a SNAP header.
    Llc,
    /// A PPP frame carries something other than IP.
    Ppp(u16),
    /// An IP packet carries something other than TCP or UDP.
    Protocol(u8),
    /// A fragment other than the first has no ports.
    Fragment,
    /// The capture's snapshot length cut the headers off.
    Cut,
    /// A field contradicts another.
    Malformed,
    /// A simple packet block has no time.
    Untimed,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |f: &mut fmt::Formatter<'_>, number: u16, names: &[(u16, &str)]| {
            names.iter().find(|(known, _)| *known == number).map_or(Ok(()), |(_, name)| write!(f, " ({name})"))
        };
        match *self {
            Unread::LinkType(number) => {
                write!(f, "link type {number}")?;
                named(f, number, LINK_TYPES)
            }
            Unread::EtherType(number) => {
                write!(f, "EtherType 0x{number:04x}")?;
                named(f, number, ETHER_TYPES)
            }
            Unread::Llc => f.write_str("802.2 frames"),
            Unread::Ppp(number) => write!(f, "PPP protocol 0x{number:04x}"),
            Unread::Protocol(number) => {
                write!(f, "IP protocol {number}")?;
                named(f, u16::from(number), PROTOCOLS)
            }
            Unread::Fragment => f.write_str("fragments without ports"),
            Unread::Cut => f.write_str("cut within the headers"),
            Unread::Malformed => f.write_str("malformed"),
            Unread::Untimed => f.write_str("without a time (simple packet blocks)"),
        }
    }
}

/// Common link types that are not supported.
const LINK_TYPES: &[(u16, &str)] = &[
    (3, "AX.25"),
    (6, "Token Ring"),
    (7, "ARCNET"),
    (8, "SLIP"),
    (10, "FDDI"),
    (100, "ATM"),
    (105, "802.11"),
    (107, "Frame Relay"),
    (117, "PF log"),
    (119, "802.11 with a Prism header"),
    (122, "IP over Fibre Channel"),
    (123, "SunATM"),
    (127, "802.11 with a radiotap header"),
    (129, "Linux ARCNET"),
    (138, "IP over FireWire"),
    (140, "MTP2"),
    (141, "MTP3"),
    (143, "DOCSIS"),
    (144, "IrDA"),
    (163, "802.11 with an AVS header"),
    (165, "BACnet"),
    (187, "Bluetooth"),
    (189, "USB"),
    (192, "per-packet information"),
    (195, "802.15.4"),
    (201, "Bluetooth"),
    (202, "AX.25"),
    (219, "Juniper"),
    (220, "USB"),
    (224, "Fibre Channel"),
    (227, "CAN"),
    (230, "802.15.4"),
    (239, "Netfilter log"),
    (240, "netANALYZER"),
    (245, "NFC"),
    (247, "InfiniBand"),
    (249, "USB"),
    (251, "Bluetooth Low Energy"),
    (252, "exported protocol data"),
    (253, "Netlink"),
    (256, "Bluetooth Low Energy"),
    (265, "Infiniband"),
    (266, "SCTP"),
    (283, "802.15.4"),
];

const ETHER_TYPES: &[(u16, &str)] = &[
    (0x0806, "ARP"),
    (0x8035, "RARP"),
    (0x809b, "AppleTalk"),
    (0x8137, "IPX"),
    (0x8808, "pause frames"),
    (0x8809, "LACP"),
    (0x8863, "PPPoE discovery"),
    (0x8847, "MPLS without IP"),
    (0x8848, "MPLS without IP"),
    (0x888e, "802.1X"),
    (0x88b7, "OUI extended"),
    (0x88ca, "TIPC"),
    (0x88cc, "LLDP"),
    (0x88e5, "MACsec"),
    (0x88f7, "PTP"),
    (0x8902, "CFM"),
    (0x8906, "FCoE"),
    (0x8914, "FCoE"),
    (0x8915, "RoCE"),
];

const PROTOCOLS: &[(u16, &str)] = &[
    (1, "ICMP"),
    (2, "IGMP"),
    (33, "DCCP"),
    (47, "GRE"),
    (50, "ESP"),
    (58, "ICMPv6"),
    (59, "no next header"),
    (88, "EIGRP"),
    (89, "OSPF"),
    (103, "PIM"),
    (112, "VRRP"),
    (115, "L2TP"),
    (132, "SCTP"),
    (136, "UDP-Lite"),
];
