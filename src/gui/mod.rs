//! The window. It draws what it holds and asks the engine for the rest, through the protocol alone.

mod action;
mod answers;
mod app;
mod apply;
mod controls;
mod conversation;
mod edits;
mod examples;
mod experiments;
mod file_dialog;
mod grid;
mod heatmap;
mod hub;
mod marks;
mod output;
mod prune;
mod ranking;
mod recent;
mod share;
mod start;
mod status;
mod surgery;
mod text_boxes;
mod workshop;

pub use app::{HeadlightApp, Opening};
pub use start::{OpenError, Theme, open};
