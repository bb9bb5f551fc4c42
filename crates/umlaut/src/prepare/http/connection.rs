//! Connections, plain and encrypted.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::address::Address;

/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Makes connections.
#[derive(Debug)]
pub(super) struct Connector {
    timeout: Duration,
}

/// A connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Connector {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout }
    }

    /// Connects to the first of the host's addresses that answers.
    pub(super) fn connect(&self, address: &Address) -> io::Result<Stream> {
        let mut failure = io::Error::new(io::ErrorKind::NotFound, format!("{} has no address", address.host));
        for socket in (address.host.as_str(), address.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&socket, self.timeout.min(CONNECT_TIMEOUT)) {
                Ok(stream) => return self.prepare(stream, address),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    fn prepare(&self, stream: TcpStream, address: &Address) -> io::Result<Stream> {
        stream.set_read_timeout(Some(self.timeout))?;
        stream.set_write_timeout(Some(self.timeout))?;
        if !address.is_secure {
            return Ok(Stream::Plain(stream));
        }
        let name = ServerName::try_from(address.host.clone()).map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::new(configuration()?), name).map_err(io::Error::other)?;
        Ok(Stream::Encrypted(Box::new(StreamOwned::new(connection, stream))))
    }
}

/// Trusts whom browsers trust.
fn configuration() -> io::Result<ClientConfig> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Encrypted(stream) => stream.read(buffer),
        };
        // A read that ran out of time is reported under one of two names, neither of which says so.
        read.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                io::Error::new(io::ErrorKind::TimedOut, "the server was silent for too long")
            }
            _ => error,
        })
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Encrypted(stream) => stream.flush(),
        }
    }
}
