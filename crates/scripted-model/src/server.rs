//! The server: one thread that accepts connections and one per connection; dropping it stops them.

use std::io::{self, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::answer::Answer;
use crate::http::{Received, Response, receive, respond};
use crate::protocol::{Protocol, Turn};
use crate::request::Request;
use crate::script::Script;
use crate::tools::translate;

/// Counts the turns of all models: a client that resumes a session treats a known id as the same
/// call.
static TURNS: AtomicUsize = AtomicUsize::new(1);

/// A scripted model that listens on loopback until it is dropped.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// The agent whose tools are called.
    agent: String,
    closed: AtomicBool,
    play: Mutex<Play>,
}

/// The script and the requests so far, changed together.
#[derive(Debug)]
struct Play {
    script: Script,
    requests: Vec<Request>,
}

impl Model {
    /// Starts a model on a free port, for Claude Code.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::start_for("claude", script)
    }

    /// Starts a model on a free port, for this agent: the script's calls use the agent's tools.
    pub fn start_for(agent: &str, script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let play = Mutex::new(Play { script, requests: Vec::new() });
        let shared =
            Arc::new(Shared { agent: agent.to_owned(), closed: AtomicBool::new(false), play });
        let accepting = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Ok(Self { address, shared, accepting: Some(accepting) })
    }

    /// Returns the value for `ANTHROPIC_BASE_URL`; OpenAI's protocols need `/v1` after it.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns all requests so far, including side questions.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.play().requests.clone()
    }

    /// Returns the requests of agents, main and sub.
    pub fn conversation(&self) -> Vec<Request> {
        self.requests().into_iter().filter(Request::is_conversation).collect()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        // The accepting thread sleeps in the kernel; a connection wakes it.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl Shared {
    /// Locks the play. A panic of one thread while it held the lock must not affect the others.
    fn play(&self) -> MutexGuard<'_, Play> {
        self.play.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.closed.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // A client that hangs up in the middle is part of the tests.
        std::thread::spawn(move || drop(serve(stream, &shared)));
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let mut writer = stream.try_clone()?;
    let Some(received) = receive(&mut BufReader::new(stream))? else { return Ok(()) };
    let (json, events) = ("application/json", "text/event-stream");
    let mut send = |status, content_type, headers: &[(&str, String)], body: &str| {
        respond(&mut writer, &Response { status, content_type, headers, body })
    };
    if received.path.contains("count_tokens") || received.path.contains(":countTokens") {
        return send(200, json, &[], r#"{"input_tokens":1000,"totalTokens":1000}"#);
    }
    let protocol = if received.method == "POST" { Protocol::of(&received.path) } else { None };
    let Some(protocol) = protocol else {
        let body = r#"{"type":"error","error":{"type":"not_found_error","message":"not here"}}"#;
        return send(404, json, &[], body);
    };
    let (answer, serial, request) = take_turn(&received, shared);
    std::thread::sleep(answer.delay);
    if let Some(refusal) = &answer.refusal {
        let (status, body) = protocol.error(refusal);
        let content_type = if status == 200 { events } else { json };
        return send(status, content_type, &refusal.headers, &body);
    }
    let model = request.body.get("model").and_then(Value::as_str).unwrap_or("scripted");
    let is_asked = request.body.get("stream") == Some(&Value::Bool(true));
    let is_streamed = is_asked || received.path.contains(":streamGenerateContent");
    let answer = translate(answer, &shared.agent);
    let body = protocol.turn(&Turn { answer: &answer, serial, model, is_streamed });
    send(200, if is_streamed { events } else { json }, &[], &body)
}

fn take_turn(received: &Received, shared: &Shared) -> (Answer, usize, Request) {
    let body = serde_json::from_slice(&received.body).unwrap_or_default();
    let request = Request::new(&received.path, body);
    let mut play = shared.play();
    let answer = play.script.next(&request);
    play.requests.push(request.clone());
    (answer, TURNS.fetch_add(1, Ordering::Relaxed), request)
}
