//! GET over HTTP/1.1 and HTTPS, with headers of one's own and a timeout that holds for each read.
//!
//! Redirections are followed. Bodies are read as they come: what a server compressed stays compressed. Proxies are not
//! known: behind one, archives are downloaded by another program and named as a mirror.

mod address;
mod body;
mod connection;

use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::time::Duration;

use self::address::Address;
use self::body::{Body, Framing};
use self::connection::Connector;

/// Redirections that are followed.
const MAX_REDIRECTIONS: usize = 5;
/// The longest head of an answer.
const MAX_HEAD_BYTES: u64 = 1 << 16;

/// Asks servers.
#[derive(Debug)]
pub(crate) struct Client {
    connector: Connector,
}

/// The answer of a server.
#[derive(Debug)]
pub(crate) struct Response {
    /// 200 for the whole, 206 for a range.
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    /// What follows the head. Ends in an error where the connection breaks before the end.
    pub(crate) body: Body,
}

impl Client {
    /// A server that is silent for `timeout` has failed.
    pub(crate) fn new(timeout: Duration) -> Self {
        Self { connector: Connector::new(timeout) }
    }

    /// Asks for what is at an address.
    ///
    /// # Errors
    /// `InvalidInput` for an address that is none, and whatever the connection reports.
    pub(crate) fn get(&self, url: &str, headers: &[(&str, &str)]) -> io::Result<Response> {
        let mut address = Address::parse(url)?;
        for _ in 0..=MAX_REDIRECTIONS {
            let response = self.ask(&address, headers)?;
            match (response.status, response.header("Location")) {
                (301 | 302 | 303 | 307 | 308, Some(location)) => address = address.join(location)?,
                _ => return Ok(response),
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, "the server redirects in a circle"))
    }

    fn ask(&self, address: &Address, headers: &[(&str, &str)]) -> io::Result<Response> {
        let mut stream = self.connector.connect(address)?;
        let host = address.authority();
        let agent = concat!("umlaut/", env!("CARGO_PKG_VERSION"));
        let fixed =
            [("Host", host.as_str()), ("User-Agent", agent), ("Accept-Encoding", "identity"), ("Connection", "close")];
        let lines = fixed.iter().chain(headers).map(|(name, value)| format!("{name}: {value}\r\n"));
        let lines = lines.collect::<String>();
        stream.write_all(format!("GET {} HTTP/1.1\r\n{lines}\r\n", address.path).as_bytes())?;
        stream.flush()?;
        Response::read(BufReader::with_capacity(1 << 16, stream))
    }
}

impl Response {
    fn read(mut stream: BufReader<connection::Stream>) -> io::Result<Self> {
        let mut head = stream.by_ref().take(MAX_HEAD_BYTES);
        let status = loop {
            let line = read_line(&mut head)?;
            let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse().ok());
            match status.ok_or_else(|| broken("the answer is no HTTP"))? {
                // An answer before the answer.
                100..200 => while !read_line(&mut head)?.is_empty() {},
                status => break status,
            }
        };
        let mut headers = Vec::new();
        loop {
            let line = read_line(&mut head)?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| broken("a header without a name"))?;
            headers.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        let framing = Framing::of(|name| header(&headers, name))?;
        Ok(Self { status, headers, body: Body::new(stream, framing) })
    }

    /// The value of a header, whatever the case of its name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// A line of a head without its end.
fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    reader.read_until(b'\n', &mut bytes)?;
    if bytes.pop() != Some(b'\n') {
        return Err(broken("the answer breaks off in its head"));
    }
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn broken(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
