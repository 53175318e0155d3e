//! The addresses of hosts, by their numbers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The network of all hosts in IPv4.
pub const PREFIX_V4: &str = "10.77.0.0/16";

/// The network of all hosts in IPv6.
pub const PREFIX_V6: &str = "fd77::/112";

/// The IPv4 address of a host.
pub fn address_v4(host: u16) -> Ipv4Addr {
    let [high, low] = host.wrapping_add(1).to_be_bytes();
    Ipv4Addr::new(10, 77, high, low)
}

/// The IPv6 address of a host.
pub fn address_v6(host: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, host.wrapping_add(1))
}

/// The host with this address; `None` for all other addresses.
pub(crate) fn host_of(address: IpAddr) -> Option<u32> {
    let number = match address {
        IpAddr::V4(v4) => match v4.octets() {
            [10, 77, high, low] => u16::from_be_bytes([high, low]),
            _ => return None,
        },
        IpAddr::V6(v6) => match v6.segments() {
            [0xfd77, 0, 0, 0, 0, 0, 0, number] => number,
            _ => return None,
        },
    };
    number.checked_sub(1).map(u32::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_by_both_of_its_addresses() {
        for host in [0, 1, 254, 255, 256, 65_534] {
            assert_eq!(host_of(address_v4(host).into()), Some(u32::from(host)));
            assert_eq!(host_of(address_v6(host).into()), Some(u32::from(host)));
        }
        let others: [IpAddr; 4] = [[10, 77, 0, 0].into(), [10, 78, 0, 1].into(), Ipv6Addr::LOCALHOST.into(), [224, 0, 0, 1].into()];
        assert_eq!(others.map(host_of), [None; 4]);
    }
}
