//! A git server on loopback: `git http-backend` behind as much HTTP as git needs. The network can be cut:
//! then nobody gets an answer, and what is under way may have been done all the same.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};

/// What git may send at once: small packs have a length, larger ones come in chunks.
const LONGEST_BODY: u64 = 256 << 20;

/// A server of all repositories below a folder.
#[derive(Debug)]
pub(super) struct GitServer {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    root: Utf8PathBuf,
    is_cut: AtomicBool,
    fetches: AtomicU64,
    pushes: AtomicU64,
    bytes: AtomicU64,
}

/// What was asked of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) fetches: u64,
    pub(super) pushes: u64,
    /// Bytes sent and received.
    pub(super) bytes: u64,
}

impl GitServer {
    /// Serves until the process ends.
    pub(super) fn start(root: &Utf8Path) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port on loopback")?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            is_cut: AtomicBool::new(false),
            fetches: AtomicU64::new(0),
            pushes: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        });
        let served = shared.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let served = served.clone();
                // A connection that breaks is the client's to complain about.
                std::thread::spawn(move || drop(served.answer(connection)));
            }
        });
        Ok(Self { port, shared })
    }

    /// The address of a repository.
    pub(super) fn url(&self, repository: &str) -> String {
        format!("http://127.0.0.1:{}/{repository}", self.port)
    }

    /// From now on nobody reaches it, or everybody again.
    pub(super) fn cut(&self, is_cut: bool) {
        self.shared.is_cut.store(is_cut, Ordering::SeqCst);
    }

    /// What was asked of it so far.
    pub(super) fn asked(&self) -> Asked {
        let count = |number: &AtomicU64| number.load(Ordering::SeqCst);
        let Shared { fetches, pushes, bytes, .. } = &*self.shared;
        Asked { fetches: count(fetches), pushes: count(pushes), bytes: count(bytes) }
    }
}

/// A request of git's.
#[derive(Debug, Default)]
struct Request {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

impl Shared {
    fn answer(&self, connection: TcpStream) -> Result<()> {
        if self.is_cut.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut reader = BufReader::new(connection.try_clone()?);
        let request = receive(&mut reader)?;
        self.count(&request);
        let said = self.ask_git(&request)?;
        if self.is_cut.load(Ordering::SeqCst) {
            // It was done, and nobody is told.
            return Ok(());
        }
        self.bytes.fetch_add((request.body.len() + said.len()) as u64, Ordering::SeqCst);
        let mut writer = connection;
        writer.write_all(&as_http(&said))?;
        Ok(writer.flush()?)
    }

    fn count(&self, request: &Request) {
        let (is_fetch, is_push) =
            (request.query.contains("git-upload-pack"), request.query.contains("git-receive-pack"));
        self.fetches.fetch_add(u64::from(is_fetch), Ordering::SeqCst);
        self.pushes.fetch_add(u64::from(is_push), Ordering::SeqCst);
    }

    fn ask_git(&self, request: &Request) -> Result<Vec<u8>> {
        let mut command = Command::new("git");
        command
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("REMOTE_USER", "fleet")
            .env("REMOTE_ADDR", "127.0.0.1")
            .env("REQUEST_METHOD", &request.method)
            .env("PATH_INFO", &request.path)
            .env("QUERY_STRING", &request.query)
            .env("CONTENT_LENGTH", request.body.len().to_string());
        for (variable, header) in [
            ("CONTENT_TYPE", "content-type"),
            ("HTTP_CONTENT_ENCODING", "content-encoding"),
            ("GIT_PROTOCOL", "git-protocol"),
        ] {
            command.envs(request.header(header).map(|value| (variable, value)));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("git http-backend does not start")?;
        let (mut stdin, body) = (child.stdin.take().context("no pipe")?, request.body.clone());
        let writer = std::thread::spawn(move || stdin.write_all(&body));
        let output = child.wait_with_output()?;
        // A git that refuses does not read on.
        let _ = writer.join();
        Ok(output.stdout)
    }
}

fn receive(reader: &mut impl BufRead) -> Result<Request> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        bail!("not a request line: {line:?}");
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        ..Request::default()
    };
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.split_once(':') else { break };
        request.headers.push((name.to_owned(), value.trim().to_owned()));
    }
    request.body = match request.header("transfer-encoding") {
        Some(_) => chunks(reader)?,
        None => {
            let length = request.header("content-length").unwrap_or("0").parse()?;
            taken(reader, length)?
        }
    };
    Ok(request)
}

fn chunks(reader: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let length = u64::from_str_radix(line.trim().split(';').next().unwrap_or_default(), 16)?;
        body.extend(taken(reader, length)?);
        reader.read_line(&mut String::new())?;
        if length == 0 {
            return Ok(body);
        }
    }
}

fn taken(reader: &mut impl Read, length: u64) -> Result<Vec<u8>> {
    anyhow::ensure!(length <= LONGEST_BODY, "a body of {length} bytes is too long");
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    anyhow::ensure!(body.len() as u64 == length, "the connection broke");
    Ok(body)
}

/// What a CGI program says, as an answer: its status is one of its headers.
fn as_http(said: &[u8]) -> Vec<u8> {
    let end = said.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(said.len());
    let (headers, body) = said.split_at(end);
    let headers = String::from_utf8_lossy(headers);
    let status = headers.lines().find_map(|line| line.strip_prefix("Status: "));
    let mut answer = format!("HTTP/1.1 {}\r\nConnection: close\r\n", status.unwrap_or("200 OK"));
    let body = body.get(4..).unwrap_or_default();
    answer.push_str(&format!("Content-Length: {}\r\n", body.len()));
    for line in headers.lines().filter(|line| !line.starts_with("Status: ") && !line.is_empty()) {
        answer.push_str(&format!("{line}\r\n"));
    }
    [answer.as_bytes(), b"\r\n", body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_an_answer() {
        let said = b"Status: 404 Not Found\r\nContent-Type: text/plain\r\n\r\nno";
        let answer = String::from_utf8(as_http(said)).unwrap();
        assert!(answer.starts_with("HTTP/1.1 404 Not Found\r\n"), "{answer}");
        assert!(answer.ends_with("Content-Length: 2\r\nContent-Type: text/plain\r\n\r\nno"));
    }

    #[test]
    fn a_body_in_chunks_is_put_together() {
        let sent = b"POST /a?b=c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
                     3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        let request = receive(&mut sent.as_slice()).unwrap();
        let Request { path, query, body, .. } = request;
        assert_eq!((path.as_str(), query.as_str(), body.as_slice()), ("/a", "b=c", &b"abcde"[..]));
    }
}
