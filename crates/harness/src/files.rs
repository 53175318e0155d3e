//! The files of a run: what a reader of packets and a viewer of QUIC logs show.

use crate::log::{Log, PacketEvent, PacketKind, Run};
use sojourn_capture::pcapng::{Captured, Interface, Writer};
use sojourn_capture::wire::{Endpoint, Ip, udp};
use sojourn_units::Time;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

impl Run {
    /// Writes `NAME.pcapng` and `NAME.qlog` to a folder; returns their paths.
    /// The folder is created if needed.
    ///
    /// # Errors
    /// The folder or a file cannot be written.
    ///
    /// ```
    /// use sojourn_harness::{Dumbbell, Harness};
    /// let run = Harness::new(Dumbbell::new("10 Mbit/s", "40 ms").tcp("ours", "cubic").duration("1 s").check().unwrap()).run().unwrap();
    /// let [capture, log] = run.save(&std::env::temp_dir(), "example").unwrap();
    /// assert!(capture.exists() && log.exists());
    /// ```
    pub fn save(&self, folder: &Path, name: &str) -> io::Result<[PathBuf; 2]> {
        fs::create_dir_all(folder)?;
        let paths = ["pcapng", "qlog"].map(|kind| folder.join(format!("{name}.{kind}")));
        fs::write(&paths[0], self.log.pcapng()?)?;
        fs::write(&paths[1], self.log.qlog())?;
        Ok(paths)
    }
}

impl Log {
    /// The packets of foreign flows as a capture, with IP and UDP headers and without payload.
    /// The interfaces are the two hosts: a packet appears where it is sent and where it arrives.
    ///
    /// # Errors
    /// None in practice: it writes to memory.
    pub fn pcapng(&self) -> io::Result<Vec<u8>> {
        let interfaces = ["sender", "receiver"].map(|name| Interface { name, rate: None });
        let mut file = Writer::new(Vec::new(), "sojourn-harness", &interfaces)?;
        let mut flows: Vec<&str> = Vec::new();
        for packet in self.packets.iter().filter(|packet| packet.kind != PacketKind::Dropped) {
            let flow = flows.iter().position(|flow| *flow == &*packet.flow).unwrap_or_else(|| {
                flows.push(&packet.flow);
                flows.len() - 1
            });
            let ends = [Endpoint { address: [10, 0, 0, 1], port: 50_000 + flow as u16 }, Endpoint { address: [10, 0, 0, 2], port: 4433 }];
            let [source, destination] = if packet.back { [ends[1], ends[0]] } else { ends };
            let headers =
                udp(&Ip { source, destination, dscp: 0, ecn: packet.ecn.bits(), id: packet.number as u16 }, u32::from(packet.size));
            let interface = u32::from((packet.kind == PacketKind::Arrived) != packet.back);
            let at = Time::from_nanos(packet.at.as_nanos() as u64);
            file.packet(&Captured { interface, at, bytes: headers.bytes(), length: headers.length, comment: "" })?;
        }
        file.finish()
    }

    /// The packets and windows of foreign flows as a qlog 0.3 of JSON text sequences.
    /// It is seen from the senders. Packet numbers are those of the run.
    pub fn qlog(&self) -> String {
        let mut text = String::new();
        let head = r#"{"qlog_format":"JSON-SEQ","qlog_version":"0.3","title":"sojourn-harness","trace":{"vantage_point":{"type":"network"},"common_fields":{"time_format":"absolute","reference_time":0}}}"#;
        let _ = writeln!(text, "\u{1e}{head}");
        let mut events: Vec<(Duration, String)> = self.packets.iter().map(|packet| (packet.at, packet_event(packet))).collect();
        for (name, changes) in [("congestion_window", &self.windows), ("pacing_rate", &self.pacing_rates)] {
            let all = changes.iter().flat_map(|(flow, changes)| changes.iter().map(move |change| (flow, change)));
            events.extend(all.map(|(flow, &(at, value))| (at, event(flow, "recovery:metrics_updated", &format!("\"{name}\":{value}")))));
        }
        // The sort is stable: packets of a time stay before the windows that follow from them.
        events.sort_by_key(|event| event.0);
        for (at, event) in events {
            let _ = writeln!(text, "\u{1e}{{\"time\":{:.6},{event}}}", at.as_secs_f64() * 1e3);
        }
        text
    }
}

fn event(flow: &str, name: &str, data: &str) -> String {
    format!("\"name\":\"{name}\",\"group_id\":{flow:?},\"data\":{{{data}}}")
}

fn packet_event(packet: &PacketEvent) -> String {
    let name = match (packet.kind, packet.back) {
        (PacketKind::Sent, false) | (PacketKind::Arrived, true) => {
            if packet.back {
                "transport:packet_received"
            } else {
                "transport:packet_sent"
            }
        }
        (PacketKind::Dropped, _) => "network:packet_dropped",
        (PacketKind::Sent, true) => "network:packet_sent_by_peer",
        (PacketKind::Arrived, false) => "network:packet_received_by_peer",
    };
    let (number, length, ecn) = (packet.number, packet.size, packet.ecn);
    let data =
        format!("\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}},\"raw\":{{\"length\":{length}}},\"ecn\":\"{ecn:?}\"");
    event(&packet.flow, name, &data)
}
