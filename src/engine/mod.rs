//! The worker thread that owns the model: requests in, responses out, the latest text wins.
//!
//! ```no_run
//! use headlight::engine::{Engine, Job, Options, Outcome, Response};
//! use headlight::run::Texts;
//! use std::sync::Arc;
//!
//! let engine = Engine::spawn(Options::default(), || ());
//! engine.link().load("all-MiniLM-L6-v2".into());
//! engine.link().submit(Job::Forward(Arc::new(Texts::single("Hello"))));
//! while let Ok(response) = engine.link().responses.recv() {
//!     if let Response::Done { outcome: Outcome::Run(run), .. } = response {
//!         println!("{} tokens", run.attention.tokens());
//!         break;
//!     }
//! }
//! ```

mod inbox;
mod protocol;
mod worker;

pub use protocol::{Command, Experiment, Job, Link, Outcome, Progress, Request, RequestId, Response};
pub use worker::{Engine, Options};
