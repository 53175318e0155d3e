//! The applications of both ends: one writes to a stream, the other reads.

use crate::SERVER;
use crate::io::address;
use bytes::Bytes;
use s2n_quic::client::{Connect, ConnectionAttempt};
use s2n_quic::connection::Error;
use s2n_quic::stream::{ReceiveStream, SendStream};
use s2n_quic::{Client, Connection, Server};
use sojourn_harness::State;
use std::fmt::Display;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Bytes that the application writes at once.
static CHUNK: [u8; 16 * 1024] = [0; 16 * 1024];

/// The application of one end.
pub trait Application {
    /// Whether it is the server's.
    const SERVER: bool;
    /// Reads or writes what it can; returns whether that was anything.
    fn advance(&mut self) -> bool;
    /// Data to write, as in [`sojourn_harness::Endpoint::write`].
    fn write(&mut self, _: Option<u64>, _: bool) {}
    /// Discards data that was not yet sent.
    fn stop(&mut self) {}
    /// Adds what the application sees to a state.
    fn state(&self, state: State) -> State;
    /// Why the connection is lost.
    fn fault(&self) -> Option<String>;
}

/// A poll by hand: the harness polls again after each event.
fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// Stores the error of a result, and returns its value.
fn or_fault<T, E: Display>(fault: &mut Option<String>, result: Result<T, E>) -> Option<T> {
    result.map_err(|error| *fault = Some(format!("the connection is lost: {error}"))).ok()
}

/// The application of the client.
pub struct Writer {
    client: Client,
    attempt: Option<ConnectionAttempt>,
    connection: Option<Connection>,
    stream: Option<SendStream>,
    /// Bytes to write; `None` for data without end.
    to_write: Option<u64>,
    last: bool,
    finished: bool,
    complete: bool,
    fault: Option<String>,
}

impl Writer {
    /// An application that connects with its first write.
    pub fn new(client: Client) -> Self {
        Writer {
            client,
            attempt: None,
            connection: None,
            stream: None,
            to_write: Some(0),
            last: false,
            finished: false,
            complete: false,
            fault: None,
        }
    }

    fn connect(&mut self) -> bool {
        let Some(attempt) = &mut self.attempt else { return false };
        let Poll::Ready(connected) = Pin::new(attempt).poll(&mut context()) else { return false };
        self.attempt = None;
        self.connection = or_fault::<_, Error>(&mut self.fault, connected);
        self.connection.is_some()
    }

    fn open(&mut self) -> bool {
        let (None, Some(connection)) = (&self.stream, &mut self.connection) else { return false };
        let Poll::Ready(opened) = connection.poll_open_send_stream(&mut context()) else { return false };
        self.stream = or_fault(&mut self.fault, opened);
        self.stream.is_some()
    }

    fn send(&mut self) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        let most = self.to_write.map_or(CHUNK.len(), |left| (left as usize).min(CHUNK.len()));
        let mut chunk = Bytes::from_static(&CHUNK[..most]);
        if most > 0
            && let Poll::Ready(sent) = stream.poll_send(&mut chunk, &mut context())
        {
            or_fault(&mut self.fault, sent);
        }
        let written = most - chunk.len();
        self.to_write = self.to_write.map(|left| left - written as u64);
        written > 0
    }

    fn finish(&mut self) -> bool {
        let Some(stream) = &mut self.stream else { return false };
        if !self.last || self.to_write != Some(0) || self.complete {
            return false;
        }
        let Poll::Ready(closed) = stream.poll_close(&mut context()) else { return !std::mem::replace(&mut self.finished, true) };
        or_fault(&mut self.fault, closed);
        self.complete = self.fault.is_none();
        true
    }

    /// Discards what was not yet sent. Later data goes to another stream.
    fn discard(&mut self) {
        if let Some(mut stream) = self.stream.take() {
            let _ = stream.reset(0u8.into());
        }
        self.to_write = Some(0);
    }
}

impl Application for Writer {
    const SERVER: bool = false;

    fn advance(&mut self) -> bool {
        self.fault.is_none() && (self.connect() || self.open() || self.send() || self.finish())
    }

    fn write(&mut self, bytes: Option<u64>, last: bool) {
        if self.to_write.is_none() && bytes.is_some() {
            self.discard();
        }
        self.to_write = self.to_write.zip(bytes).map(|(left, bytes)| left + bytes);
        self.last |= last && bytes.is_some();
        if self.attempt.is_none() && self.connection.is_none() {
            self.attempt = Some(self.client.connect(Connect::new(address(true)).with_server_name(SERVER)));
        }
    }

    fn stop(&mut self) {
        self.discard();
    }

    fn state(&self, state: State) -> State {
        State { complete: self.complete, ..state }
    }

    fn fault(&self) -> Option<String> {
        self.fault.clone()
    }
}

/// The application of the server.
pub struct Reader {
    server: Server,
    connection: Option<Connection>,
    streams: Vec<ReceiveStream>,
    delivered: u64,
}

impl Reader {
    /// An application that accepts a connection.
    pub fn new(server: Server) -> Self {
        Reader { server, connection: None, streams: Vec::new(), delivered: 0 }
    }

    fn accept(&mut self) -> bool {
        if self.connection.is_none()
            && let Poll::Ready(Some(connection)) = self.server.poll_accept(&mut context())
        {
            self.connection = Some(connection);
        }
        let Some(connection) = &mut self.connection else { return false };
        let Poll::Ready(Ok(Some(stream))) = connection.poll_accept_receive_stream(&mut context()) else { return false };
        self.streams.push(stream);
        true
    }

    fn read(&mut self) -> bool {
        let (mut read, delivered) = (0, self.delivered);
        self.streams.retain_mut(|stream| {
            loop {
                match stream.poll_receive(&mut context()) {
                    Poll::Ready(Ok(Some(bytes))) => read += bytes.len() as u64,
                    Poll::Ready(_) => return false,
                    Poll::Pending => return true,
                }
            }
        });
        self.delivered += read;
        self.delivered > delivered
    }
}

impl Application for Reader {
    const SERVER: bool = true;

    fn advance(&mut self) -> bool {
        self.accept() | self.read()
    }

    fn state(&self, state: State) -> State {
        State { delivered: self.delivered, ..state }
    }

    /// The client reports a lost connection.
    fn fault(&self) -> Option<String> {
        None
    }
}
