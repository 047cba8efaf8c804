//! `selvedge lsp`: a language server for programs in `.sel`, on standard input and output.
//!
//! One thread reads messages, one answers them; a check runs in a process of its own, watched by a thread. The protocol is small
//! enough to be written here: `frame.rs` has the framing, and messages are JSON values.

mod answers;
mod checks;
mod document;
mod files;
mod frame;
mod hover;
mod server;
mod tokens;
mod words;

use std::io::{self, BufReader};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};

use serde_json::Value;

use crate::exit::{Exit, Failure};
use checks::News;
use frame::Frame;
use server::{Server, State};

/// What the server reacts to.
enum Event {
    Frame(Frame),
    /// Nothing more comes in.
    End,
    Check(News),
}

/// Serves until the client says `exit`. Without a `shutdown` before it the exit code is 1, as the protocol wants it.
pub(crate) fn run() -> Result<Exit, Failure> {
    let (events, inbox) = mpsc::channel();
    let for_input = events.clone();
    let reader = std::thread::Builder::new().name("input".to_owned());
    let started = reader.spawn(move || read_all(&for_input));
    started.map_err(|error| Failure::User(format!("no thread can be started: {error}")))?;
    let mut server = Server::new(events, send);
    serve(&mut server, &inbox);
    Ok(if server.state == State::ShutDown { Exit::Good } else { Exit::Violated })
}

fn read_all(events: &Sender<Event>) {
    let mut input = BufReader::new(io::stdin());
    loop {
        let event = match frame::read(&mut input) {
            Ok(Some(frame)) => Event::Frame(frame),
            Ok(None) | Err(_) => Event::End,
        };
        let is_end = matches!(event, Event::End);
        if events.send(event).is_err() || is_end {
            return;
        }
    }
}

/// If that fails, the editor is gone; then input ends too.
fn send(message: &Value) {
    let _ = frame::write(&mut io::stdout().lock(), message);
}

fn serve(server: &mut Server, inbox: &Receiver<Event>) {
    loop {
        let event = match inbox.try_recv() {
            Ok(event) => event,
            // Nothing to do: what changed is looked at now, once for many keys.
            Err(TryRecvError::Empty) => {
                server.publish();
                match inbox.recv() {
                    Ok(event) => event,
                    Err(_) => return,
                }
            }
            Err(TryRecvError::Disconnected) => return,
        };
        match event {
            Event::Frame(Frame::Message(message)) => server.message(&message),
            Event::Frame(Frame::Malformed(why)) => server.malformed(&why),
            Event::Check(news) => server.news(news),
            Event::End => return,
        }
        if server.is_over {
            return;
        }
    }
}
