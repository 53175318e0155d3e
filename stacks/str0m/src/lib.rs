//! Endpoints of str0m, a WebRTC stack, for `sojourn-harness`.
//!
//! The sender has one video stream of 30 frames a second. An ideal encoder fills each frame to str0m's estimate of the bandwidth, from
//! transport-wide feedback, so the flow shows str0m's congestion control. Both ends connect by ICE and DTLS over the network.
//! A media flow has no window, and never completes.

mod random;

use sojourn_harness::{Datagram, Ecn, Endpoint, FlowInfo, Pair, State};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use str0m::bwe::{Bitrate, BweKind};
use str0m::config::{DtlsCert, Fingerprint};
use str0m::format::Codec;
use str0m::ice::IceCreds;
use str0m::media::{MediaKind, Mid, Pt};
use str0m::net::{Protocol, Receive};
use str0m::rtp::{RtpWrite, Ssrc};
use str0m::{Candidate, Event, Input, Output, Rtc};

/// The start of all runs. str0m writes dates into handshakes and sender reports, so this is always the same date.
static BASE: LazyLock<Instant> = LazyLock::new(|| Instant::now() + (UNIX_EPOCH + DATE).duration_since(SystemTime::now()).unwrap_or(DATE));
/// The year 2100, half a second from the next one: a date that is later than any real one, and that str0m can write.
const DATE: Duration = Duration::from_millis(4_102_444_800_500);
/// Identifiers of the stream and of its retransmissions.
const STREAM: [u32; 2] = [1, 2];
/// Nanoseconds between frames.
const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 30);
/// Ticks of the video clock of 90 kHz in a frame.
const TICKS: u32 = 90_000 / 30;
/// Bytes of payload in a full packet.
const PAYLOAD: u64 = 1150;

/// Bitrates of a video, in bit/s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Video {
    /// The first estimate of the bandwidth.
    pub start: u64,
    /// The most that the encoder makes.
    pub most: u64,
}

/// Both ends of a call whose sender has this video.
pub fn pair(flow: &FlowInfo, video: Video) -> Pair {
    random::reseed(flow);
    let (mut sender, mut receiver) = (Call::new(false, video), Call::new(true, video));
    // What signaling exchanges.
    let told = [&mut sender, &mut receiver].map(Call::introduction);
    receiver.meet(told[0].clone());
    sender.meet(told[1].clone());
    Pair { sender: Box::new(sender), receiver: Box::new(receiver) }
}

/// One end of a call.
struct Call {
    rtc: Rtc,
    receives: bool,
    addresses: [SocketAddr; 2],
    departing: VecDeque<Datagram>,
    /// When str0m wants to be called.
    due: Option<Duration>,
    encoder: Encoder,
    state: State,
    fault: Option<String>,
}

/// The source of frames.
struct Encoder {
    most: u64,
    payload_type: Pt,
    /// The next frame; `None` while the application does not send.
    next: Option<Duration>,
    /// Bytes left to send; `None` for a call without end.
    left: Option<u64>,
    frames: u32,
    packets: u64,
    connected: bool,
}

fn address(receives: bool) -> SocketAddr {
    ([10, 0, 0, if receives { 2 } else { 1 }], 5000).into()
}

/// A fault of this file: str0m rejects what its documents allow.
fn sure<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("str0m: {error}"))
}

impl Call {
    fn new(receives: bool, video: Video) -> Self {
        let certificate =
            DtlsCert { certificate: include_bytes!("../certificate.der").to_vec(), private_key: include_bytes!("../key.der").to_vec() };
        let config = Rtc::builder().set_rtp_mode(true).set_dtls_cert(certificate).set_stats_interval(Some(Duration::from_millis(100)));
        let estimate = (!receives).then(|| Bitrate::from(video.start));
        let mut rtc = config.enable_bwe(estimate).build(*BASE);
        let addresses = [receives, !receives].map(address);
        sure(rtc.add_local_candidate(sure(Candidate::host(addresses[0], "udp"))).ok_or("no local candidate"));
        rtc.add_remote_candidate(sure(Candidate::host(addresses[1], "udp")));
        let payload_type = sure(rtc.codec_config().find(|codec| codec.spec().codec == Codec::Vp8).ok_or("no VP8")).pt();
        rtc.bwe().set_desired_bitrate(Bitrate::from(video.most));
        let mut api = rtc.direct_api();
        let (video_section, [ssrc, repair]) = (Mid::from("video"), STREAM.map(Ssrc::from));
        api.declare_media(video_section, MediaKind::Video);
        if receives {
            api.expect_stream_rx(ssrc, Some(repair), video_section, None);
            api.enable_twcc_feedback();
        } else {
            api.declare_stream_tx(ssrc, Some(repair), video_section, None);
        }
        let encoder = Encoder { most: video.most, payload_type, next: None, left: None, frames: 0, packets: 0, connected: false };
        let state = State { bandwidth: estimate.map(|_| video.start), ..State::default() };
        Call { rtc, receives, addresses, departing: VecDeque::new(), due: None, encoder, state, fault: None }
    }

    fn introduction(&mut self) -> (Fingerprint, IceCreds) {
        let api = self.rtc.direct_api();
        (api.local_dtls_fingerprint().clone(), api.local_ice_credentials())
    }

    fn meet(&mut self, (fingerprint, credentials): (Fingerprint, IceCreds)) {
        let mut api = self.rtc.direct_api();
        api.set_remote_fingerprint(fingerprint);
        api.set_remote_ice_credentials(credentials);
        api.set_ice_controlling(!self.receives);
        sure(api.start_dtls(!self.receives));
    }

    /// Takes what str0m has for the network and the application.
    fn drain(&mut self) {
        loop {
            match self.rtc.poll_output() {
                Ok(Output::Timeout(at)) => return self.due = Some(at.saturating_duration_since(*BASE)),
                Ok(Output::Transmit(packet)) => {
                    self.departing.push_back(Datagram { payload: packet.contents.to_vec(), ecn: Ecn::NotEct });
                }
                Ok(Output::Event(event)) => self.on_event(event),
                Err(error) => return self.fault = Some(error.to_string()),
            }
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Connected => self.encoder.connected = true,
            Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. }) => self.state.bandwidth = Some(estimate.as_u64()),
            Event::RtpPacket(packet) => self.state.delivered += packet.payload.len() as u64,
            Event::PeerStats(stats) => self.state.rtt = stats.rtt.or(self.state.rtt),
            _ => {}
        }
    }

    fn input(&mut self, input: Input) {
        if let Err(error) = self.rtc.handle_input(input) {
            self.fault = Some(error.to_string());
        }
        self.drain();
    }

    /// Sends the frame that is due.
    fn send_frame(&mut self, now: Duration) {
        let Some(at) = self.encoder.next.filter(|at| *at <= now) else { return };
        let encoder = &mut self.encoder;
        encoder.next = (encoder.left != Some(0)).then_some(at + FRAME);
        if !encoder.connected {
            return;
        }
        let rate = self.state.bandwidth.unwrap_or(encoder.most).min(encoder.most);
        let mut bytes = (rate as f64 * FRAME.as_secs_f64() / 8.0) as u64;
        bytes = encoder.left.map_or(bytes, |left| left.min(bytes));
        encoder.left = encoder.left.map(|left| left - bytes);
        encoder.frames += 1;
        while bytes > 0 {
            let size = bytes.min(PAYLOAD);
            bytes -= size;
            self.encoder.packets += 1;
            let Encoder { payload_type, packets, frames, .. } = self.encoder;
            let packet = RtpWrite::new(payload_type, packets.into(), frames * TICKS, *BASE + now, vec![0; size as usize]);
            let mut api = self.rtc.direct_api();
            let stream = api.stream_tx(&STREAM[0].into()).expect("it was declared");
            stream.write_rtp(packet.marker(bytes == 0).nackable(true));
            self.drain();
        }
    }
}

impl Endpoint for Call {
    fn write(&mut self, now: Duration, bytes: Option<u64>, _: bool) {
        self.encoder.left = bytes;
        self.encoder.next = (bytes != Some(0)).then_some(now);
        self.input(Input::Timeout(*BASE + now));
    }

    fn stop(&mut self, _: Duration) {
        self.encoder.next = None;
    }

    fn receive(&mut self, now: Duration, datagram: Datagram) {
        let [to, from] = self.addresses;
        match Receive::new(Protocol::Udp, from, to, &datagram.payload) {
            Ok(packet) => self.input(Input::Receive(*BASE + now, packet)),
            Err(error) => self.fault = Some(error.to_string()),
        }
    }

    fn transmit(&mut self, _: Duration) -> Option<Datagram> {
        self.departing.pop_front()
    }

    fn timeout(&mut self) -> Option<Duration> {
        self.due.into_iter().chain(self.encoder.next).min()
    }

    fn on_timeout(&mut self, now: Duration) {
        self.input(Input::Timeout(*BASE + now));
        self.send_frame(now);
    }

    fn state(&self) -> State {
        self.state
    }

    fn fault(&self) -> Option<String> {
        self.fault.clone()
    }
}
