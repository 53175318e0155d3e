//! Writes qlogs of quinn's CUBIC in networks that show its rules, for `sojourn judge`.
//!
//! ```sh
//! cargo run --features qlog --example qlogs -- FOLDER
//! sojourn judge FOLDER/drops.sqlog --controller cubic
//! ```

use quinn_proto::{QlogConfig, TransportConfig, VarInt};
use sojourn_harness::{Dumbbell, Fate, Harness};
use sojourn_quinn::ends;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const FLOW: &str = "quic/0";

/// A network, and the packets that it loses.
struct Case {
    name: &'static str,
    network: Dumbbell,
    /// Times at which a packet is dropped, in ms.
    drops: &'static [u64],
    /// The time in ms in which every packet is dropped.
    outage: Option<Range<u64>>,
}

fn cases() -> [Case; 3] {
    let network = |rate: &str, rtt: &str, duration: &str| Dumbbell::new(rate, rtt).limit("10000 packets").duration(duration);
    [
        // The second drop is below W_max.
        Case { name: "drops", network: network("40 Mbit/s", "40 ms", "6 s"), drops: &[250, 1500, 3500], outage: None },
        Case { name: "outage", network: network("40 Mbit/s", "40 ms", "5 s"), drops: &[250], outage: Some(2000..3200) },
        // The cubic adds more than one packet every few ACKs.
        Case { name: "long-rtt", network: network("40 Mbit/s", "600 ms", "12 s"), drops: &[3000], outage: None },
    ]
}

fn write(case: Case, folder: &Path) {
    let file = std::fs::File::create(folder.join(format!("{}.sqlog", case.name))).expect("the folder can be written");
    let mut qlog = QlogConfig::default();
    qlog.writer(Box::new(file)).title(Some(case.name.into()));
    let sender = Arc::new(transport(Some(qlog)));
    let receiver = Arc::new(transport(None));
    let network = case.network.flow("quic", "quinn").check().expect("the network is valid");
    let mut harness = Harness::new(network).host("quinn", |flow| ends(flow, Arc::clone(&sender), Arc::clone(&receiver)));
    for &at in case.drops {
        harness = harness.on_data_from(FLOW, Duration::from_millis(at), 1, Fate::Drop);
    }
    if let Some(outage) = case.outage {
        harness = harness.on_data_during(FLOW, Duration::from_millis(outage.start)..Duration::from_millis(outage.end), Fate::Drop);
    }
    harness.run().expect("the stack follows the interface");
}

/// A transport with packets of one size, whose receiver never limits the sender.
fn transport(qlog: Option<QlogConfig>) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.mtu_discovery_config(None).stream_receive_window(VarInt::from_u32(1 << 29)).send_window(1 << 29);
    transport.qlog_stream(qlog.and_then(QlogConfig::into_stream));
    transport
}

fn main() {
    let folder = std::env::args_os().nth(1).expect("expected a folder for the qlogs");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    cases().into_iter().for_each(|case| write(case, Path::new(&folder)));
}
