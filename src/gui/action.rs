//! What drawing asks for.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::command::Command;
use super::experiments::Kind;
use super::file_dialog::{Asks, Field};
use super::lang::Language;
use super::panes::Pane;
use super::pins::Pin;
use super::share::Copied;
use super::thumbnails::ThumbnailsKey;
use crate::figure::CurvesFigure;
use crate::lab::Inside;
use crate::metrics::HeadMetric;
use crate::run::{Edit, HeadId, HeadPattern, Texts, ViewSpec};

/// What drawing asks for; carried out once the frame is drawn.
#[derive(Debug, Clone)]
pub enum Action {
    /// Puts texts in the place of those that are typed.
    Type(Texts),
    Choose(HeadId),
    Copy(ViewSpec, Copied),
    ResetZoom,
    /// Adds a head to the selection, or takes it out.
    Select(HeadId),
    ClearSelection,
    /// Selects all heads of a pattern, in the place of the selection or beside it.
    SelectAll(HeadPattern, bool),
    PaintThumbnails(ThumbnailsKey),
    /// Colours the grid by a number for each head, or by its maps again.
    Measure(Option<HeadMetric>),
    ShowPane(Pane),
    HidePane(Pane),
    ResetLayout,
    /// Holds the head that is looked at on side A, and shows the comparison.
    Compare,
    ToggleZero(Vec<HeadPattern>),
    /// Adds edits in one step.
    Edit(Vec<Edit>),
    /// Cuts edges, or takes the cuts back if all of them are there.
    ToggleCuts(Vec<Edit>),
    /// Holds on to a token or a cell, or lets go of it.
    PinToken(Pin),
    /// Works out how a cell came to be.
    LookInside(Inside),
    Scale(HeadPattern, f32),
    /// Switches an edit off or on, by its place in the list.
    SwitchEdit(usize),
    RemoveEdit(usize),
    ClearEdits,
    Undo,
    Redo,
    Do(Command),
    OpenPalette,
    ShowKeys,
    ShowMessages,
    Speak(Language),
    OpenGlossary,
    BeginTour,
    /// Shows the plain model's run, or the edited one again.
    TogglePlain,
    /// Seeks the sentences of a text file that are nearest to the first text.
    FindNearest(PathBuf),
    CancelExperiment,
    /// Ranks heads by leave-one-out on the text that is typed.
    RankHeads,
    ShowEffects(bool),
    OpenExperiments,
    StartExperiment(Kind),
    /// Draws curves for the screen, so many pixels for each hundredth of an inch.
    DrawCurves(Arc<CurvesFigure>, f32),
    ExportCurves,
    /// Switches off the heads that the last curve spares.
    SwitchOffSpared,
    PruneSpared,
    /// Opens the window that prunes for good, for the heads that are off.
    OfferPruning,
    Prune,
    OpenModel(PathBuf),
    /// Stays with the model in use.
    CancelLoading,
    /// Opens the window that fetches models.
    OpenHub,
    FetchModel,
    GiveUpFetching,
    /// Shows what is known of the model that is open.
    ShowModel(bool),
    /// Opens what a path is: a model's folder, its weights, or a session.
    Open(PathBuf),
    /// Masks a token, or shows it again.
    ToggleMask(usize),
    /// Keeps the run that is shown, to patch heads from.
    Pin,
    Unpin,
    AskFile(Asks),
    /// Opens the system's dialog for a path field.
    Browse(Field, PathBuf),
}

/// The heads that something is done to through one of them: the whole selection if it is part of that.
pub fn patterns(selection: &BTreeSet<HeadId>, head: HeadId) -> Vec<HeadPattern> {
    if selection.is_empty() || (selection.len() > 1 && !selection.contains(&head)) {
        return vec![head.into()];
    }
    selection.iter().map(|&head| head.into()).collect()
}
