//! The worker thread that owns the model: requests in, responses out, the latest text wins.
//!
//! ```no_run
//! use headlight::engine::{Job, Options, Outcome, Response, spawn};
//! use headlight::run::Texts;
//! use std::{sync::Arc, time::Duration};
//!
//! let link = spawn(Options::default(), || ());
//! link.load("all-MiniLM-L6-v2".into());
//! link.submit(Job::Forward(Arc::new(Texts::single("Hello"))));
//! while let Some(response) = link.wait(Duration::from_secs(10)) {
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
pub use worker::{Options, spawn};
