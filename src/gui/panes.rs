//! The window's views, which the reader can drag, resize, stack and close.

use std::sync::Arc;

use egui::{Ui, WidgetText};
use egui_tiles::{Behavior, Container, Linear, LinearDir, SimplificationOptions, TileId, Tiles, Tree, UiResponse};
use serde::{Deserialize, Serialize};

use super::action::Action;
use super::app::HeadlightApp;
use super::lang::tr;
use crate::run::Run;

/// A view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Pane {
    Heads,
    Edits,
    Map,
    Lines,
    Text,
    Compare,
    Inside,
    Output,
}

impl Pane {
    pub const ALL: [Self; 8] =
        [Self::Heads, Self::Map, Self::Lines, Self::Text, Self::Compare, Self::Inside, Self::Output, Self::Edits];

    pub fn name(self) -> &'static str {
        match self {
            Self::Heads => tr!("Heads"),
            Self::Edits => tr!("Edits"),
            Self::Map => tr!("Map"),
            Self::Lines => tr!("Lines"),
            Self::Text => tr!("Text"),
            Self::Compare => tr!("Compare"),
            Self::Inside => tr!("Inside"),
            Self::Output => tr!("Output"),
        }
    }

    pub fn help(self) -> &'static str {
        match self {
            Self::Heads => tr!("All heads of all layers, a thumbnail each"),
            Self::Edits => tr!("What is done to heads, with undo"),
            Self::Map => tr!("One head in large: who attends to whom"),
            Self::Lines => tr!("The same as lines between two columns of tokens"),
            Self::Text => tr!("The text, coloured by what the pinned token attends to"),
            Self::Compare => tr!("Two heads, texts or models side by side, and their difference"),
            Self::Inside => tr!("How one cell came to be: query, key, score, softmax and value"),
            Self::Output => tr!("What the model's output does"),
        }
    }
}

/// The layout that a reader sees first: all heads at the left, one in large beside them, what can be done and what comes of
/// it below.
pub fn default_layout() -> Tree<Pane> {
    let mut tiles = Tiles::default();
    let mut stack = |panes: &[Pane]| {
        let panes = panes.iter().map(|pane| tiles.insert_pane(*pane)).collect();
        tiles.insert_tab_tile(panes)
    };
    let (heads, edits) = (stack(&[Pane::Heads]), stack(&[Pane::Edits]));
    let large = stack(&[Pane::Map, Pane::Lines, Pane::Text, Pane::Compare, Pane::Inside]);
    let output = stack(&[Pane::Output]);
    let mut split = |direction: LinearDir, parts: [(TileId, f32); 2]| {
        let mut linear = Linear { children: parts.map(|(tile, _)| tile).to_vec(), dir: direction, ..Linear::default() };
        for (tile, share) in parts {
            linear.shares.set_share(tile, share);
        }
        tiles.insert_container(Container::Linear(linear))
    };
    let left = split(LinearDir::Vertical, [(heads, 0.74), (edits, 0.26)]);
    let right = split(LinearDir::Vertical, [(large, 0.8), (output, 0.2)]);
    let root = split(LinearDir::Horizontal, [(left, 0.44), (right, 0.56)]);
    Tree::new(egui::Id::unique("views"), root, tiles)
}

/// Whether a layout that was kept has every view once: one of another version may not.
pub fn is_whole(tree: &Tree<Pane>) -> bool {
    let panes: Vec<Pane> = tree
        .tiles
        .tiles()
        .filter_map(|tile| match tile {
            egui_tiles::Tile::Pane(pane) => Some(*pane),
            egui_tiles::Tile::Container(_) => None,
        })
        .collect();
    panes.len() == Pane::ALL.len() && Pane::ALL.iter().all(|pane| panes.contains(pane))
}

/// Shows a view, in front of those that it shares its place with.
pub fn bring_forward(tree: &mut Tree<Pane>, pane: Pane) {
    if let Some(tile) = tree.tiles.find_pane(&pane) {
        tree.set_visible(tile, true);
        tree.make_active(|id, _| id == tile);
    }
}

/// Where a view is on the screen, its tabs included, if it is shown.
pub fn place(tree: &Tree<Pane>, pane: Pane) -> Option<egui::Rect> {
    let tile = tree.tiles.find_pane(&pane)?;
    let holder = tree.tiles.parent_of(tile).unwrap_or(tile);
    tree.tiles.rect(holder).filter(|_| is_in_front(tree, pane))
}

/// Closes a view; its place is kept.
pub fn hide(tree: &mut Tree<Pane>, pane: Pane) {
    if let Some(tile) = tree.tiles.find_pane(&pane) {
        tree.set_visible(tile, false);
    }
}

/// Whether a view is there, in front or behind another one: not closed.
fn is_open(tree: &Tree<Pane>, pane: Pane) -> bool {
    tree.tiles.find_pane(&pane).is_some_and(|tile| tree.is_visible(tile))
}

/// Whether a view is seen: not closed, and not behind another one.
pub fn is_in_front(tree: &Tree<Pane>, pane: Pane) -> bool {
    tree.tiles.find_pane(&pane).is_some_and(|tile| tree.is_visible(tile) && tree.active_tiles().contains(&tile))
}

/// The menu of views.
pub fn menu(ui: &mut Ui, tree: &Tree<Pane>, actions: &mut Vec<Action>) {
    ui.menu_button(tr!("View"), |ui| {
        for pane in Pane::ALL {
            let mut open = is_open(tree, pane);
            if ui.checkbox(&mut open, pane.name()).on_hover_text(pane.help()).changed() {
                actions.push(if open { Action::ShowPane(pane) } else { Action::HidePane(pane) });
            }
        }
        ui.separator();
        if ui.button(tr!("Reset layout")).on_hover_text(tr!("Every view where it was at first")).clicked() {
            actions.push(Action::ResetLayout);
            ui.close();
        }
    });
}

/// Draws views for one frame.
pub(super) struct Views<'a> {
    pub app: &'a mut HeadlightApp,
    pub run: &'a Arc<Run>,
    pub actions: &'a mut Vec<Action>,
}

impl Behavior<Pane> for Views<'_> {
    fn pane_ui(&mut self, ui: &mut Ui, _tile: TileId, pane: &mut Pane) -> UiResponse {
        egui::Frame::new().inner_margin(egui::Margin::symmetric(6, 4)).show(ui, |ui| {
            self.app.show_pane(ui, *pane, self.run, self.actions);
        });
        UiResponse::None
    }

    fn tab_title_for_pane(&mut self, pane: &Pane) -> WidgetText {
        pane.name().into()
    }

    fn is_tab_closable(&self, _tiles: &Tiles<Pane>, _tile: TileId) -> bool {
        true
    }

    fn on_tab_close(&mut self, tiles: &mut Tiles<Pane>, tile: TileId) -> bool {
        // Closed means hidden, so that the menu can bring it back to its place.
        if let Some(egui_tiles::Tile::Pane(pane)) = tiles.get(tile) {
            self.actions.push(Action::HidePane(*pane));
        }
        false
    }

    fn on_tab_button(&mut self, tiles: &mut Tiles<Pane>, tile: TileId, response: egui::Response) -> egui::Response {
        let Some(egui_tiles::Tile::Pane(pane)) = tiles.get(tile) else { return response };
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Tab, true, pane.name()));
        response.on_hover_text(tr!("%{a}: drag it to another place", a = pane.help()))
    }

    fn gap_width(&self, _style: &egui::Style) -> f32 {
        4.0
    }

    fn min_size(&self) -> f32 {
        90.0
    }

    fn simplification_options(&self) -> SimplificationOptions {
        SimplificationOptions { all_panes_must_have_tabs: true, ..Default::default() }
    }
}
