//! Headlight shows what every attention head of a BERT looks at.
//!
//! The path through the house: text → tokens ([`text`]) → [`model`] on libtorch, driven by the [`engine`]'s worker
//! thread → [`run::Run`] → pictures ([`figure`]), the window ([`gui`]) and the command line ([`cli`]).

rust_i18n::i18n!("locales", fallback = "en");

pub mod cli;
pub mod engine;
pub mod figure;
pub mod gui;
pub mod hub;
pub mod lab;
pub mod metrics;
pub mod model;
pub mod run;
pub mod session;
pub mod text;
