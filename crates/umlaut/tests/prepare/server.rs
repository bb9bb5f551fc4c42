//! A web server on the loopback that serves files well, or badly in a way that a test chooses.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How a request for a file is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// As it should be, ranges included.
    Well,
    /// As it should be, but the connection breaks after so many bytes.
    Cut(usize),
    /// So many bytes, and then silence.
    Silent(usize),
    /// A hundred bytes at a time.
    Slow,
    /// The whole file, whatever range was asked for.
    NoRange,
    /// As if the file had only so many bytes.
    Short(usize),
    /// Without saying how long it is, and only so many bytes.
    NoLength(usize),
    /// With an error.
    Status(u16),
}

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) file: String,
    pub(crate) range: Option<String>,
    pub(crate) if_range: Option<String>,
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, (Vec<u8>, Option<String>)>,
    answers: BTreeMap<String, VecDeque<Answer>>,
    requests: Vec<Request>,
}

/// The server. It ends with the test's process.
pub(crate) struct Server {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // A client that was killed breaks the connection: that is its affair.
                thread::spawn(move || serve(&stream, &state).ok());
            }
        });
        Self { port, state }
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Serves a file under this name and version (its ETag).
    pub(crate) fn put(&self, file: &str, bytes: &[u8], version: Option<&str>) {
        let version = version.map(|version| format!("\"{version}\""));
        self.state.lock().unwrap().files.insert(file.to_owned(), (bytes.to_vec(), version));
    }

    /// The next answers for a file; after them it is served well.
    pub(crate) fn answer(&self, file: &str, answers: &[Answer]) {
        self.state.lock().unwrap().answers.insert(file.to_owned(), answers.iter().copied().collect());
    }

    /// The requests since the last call.
    pub(crate) fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.state.lock().unwrap().requests)
    }
}

fn serve(mut stream: &TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let (mut request, mut is_first) = (Request { file: String::new(), range: None, if_range: None }, true);
    for line in BufReader::new(stream).lines() {
        let line = line?;
        if line.is_empty() {
            break;
        }
        if is_first {
            let path = line.split(' ').nth(1).unwrap_or_default();
            path.rsplit('/').next().unwrap_or_default().clone_into(&mut request.file);
            is_first = false;
        } else if let Some((name, value)) = line.split_once(": ") {
            match name.to_ascii_lowercase().as_str() {
                "range" => request.range = Some(value.to_owned()),
                "if-range" => request.if_range = Some(value.to_owned()),
                _ => {}
            }
        }
    }
    let (found, answer) = {
        let mut state = state.lock().unwrap();
        state.requests.push(request.clone());
        let answer = state.answers.get_mut(&request.file).and_then(VecDeque::pop_front).unwrap_or(Answer::Well);
        (state.files.get(&request.file).cloned(), answer)
    };
    match (found, answer) {
        (_, Answer::Status(code)) => write!(stream, "HTTP/1.1 {code} No\r\nContent-Length: 0\r\n\r\n"),
        (None, _) => write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        (Some((bytes, version)), answer) => send(stream, &bytes, version.as_deref(), answer, &request),
    }
}

fn send(
    mut stream: &TcpStream,
    bytes: &[u8],
    version: Option<&str>,
    answer: Answer,
    request: &Request,
) -> std::io::Result<()> {
    let bytes = if let Answer::Short(length) = answer { &bytes[..length] } else { bytes };
    let is_same = request.if_range.as_deref().is_none_or(|wanted| Some(wanted) == version);
    let start = request.range.as_deref().filter(|_| is_same && answer != Answer::NoRange);
    let start: Option<usize> = start.map(|range| range["bytes=".len()..].trim_end_matches('-').parse().unwrap());
    if start.is_some_and(|start| start >= bytes.len()) {
        return write!(stream, "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n");
    }
    let body = &bytes[start.unwrap_or(0)..];
    let mut head = match start {
        Some(start) => {
            let (last, total) = (bytes.len() - 1, bytes.len());
            format!("HTTP/1.1 206 Partial\r\nContent-Range: bytes {start}-{last}/{total}\r\n")
        }
        None => "HTTP/1.1 200 OK\r\n".to_owned(),
    };
    if !matches!(answer, Answer::NoLength(_)) {
        head += &format!("Content-Length: {}\r\n", body.len());
    }
    if let Some(version) = version {
        head += &format!("ETag: {version}\r\n");
    }
    write!(stream, "{head}Connection: close\r\n\r\n")?;
    match answer {
        Answer::Cut(length) | Answer::NoLength(length) => stream.write_all(&body[..length.min(body.len())]),
        Answer::Silent(length) => {
            stream.write_all(&body[..length.min(body.len())])?;
            thread::sleep(Duration::from_secs(30));
            Ok(())
        }
        Answer::Slow => body.chunks(100).try_for_each(|chunk| {
            thread::sleep(Duration::from_millis(1));
            stream.write_all(chunk)
        }),
        _ => stream.write_all(body),
    }
}
