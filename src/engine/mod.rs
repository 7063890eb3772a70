//! The worker thread that owns the model: requests in, responses out, the latest text wins.
//!
//! ```no_run
//! use headlight::engine::{Job, Options, Outcome, Response, spawn};
//! use headlight::run::{Recipe, Texts};
//! use std::time::Duration;
//!
//! let link = spawn(Options::default(), || ());
//! link.load("all-MiniLM-L6-v2".into());
//! link.submit(Job::Forward(Recipe::plain(Texts::single("Hello"))));
//! while let Some(response) = link.wait(Duration::from_secs(10)) {
//!     if let Response::Done { outcome: Outcome::Run(ran), .. } = response {
//!         println!("{} tokens", ran.run.attention.tokens());
//!         break;
//!     }
//! }
//! ```

mod cache;
mod inbox;
mod protocol;
mod worker;

pub use protocol::{Command, Experiment, Half, Job, Link, Outcome, Progress, Ran, Request, RequestId, Response};
pub use worker::{Options, spawn};
