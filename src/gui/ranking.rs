//! Which heads matter, as the grid shows it, and the row above the grid.

use std::sync::Arc;

use egui::{ProgressBar, RichText, Ui};
use ndarray::Array2;

use super::action::Action;
use super::command::Command;
use super::lang::tr;
use crate::engine::Progress;
use crate::lab::{Example, Importance, LeaveOneOut, Sensitivity, Target};
use crate::metrics::HeadMetric;
use crate::run::{HeadId, Texts};

/// What an experiment found about heads.
#[derive(Debug, Clone)]
pub enum Ranking {
    LeaveOneOut(Importance),
    Gradient(Sensitivity),
}

impl Ranking {
    /// A number for each head, `[layer, head]`.
    pub fn values(&self) -> &Array2<f32> {
        match self {
            Self::LeaveOneOut(found) => &found.effect,
            Self::Gradient(found) => &found.normalized,
        }
    }

    fn examples(&self) -> &[Example] {
        match self {
            Self::LeaveOneOut(found) => &found.spec.examples,
            Self::Gradient(found) => &found.spec.examples,
        }
    }

    /// It was found on one text, and that is another one than is typed now.
    pub fn is_stale(&self, here: Option<&Texts>) -> bool {
        match self.examples() {
            [one] => Some(&one.texts) != here,
            _ => false,
        }
    }

    /// What the numbers are.
    pub fn describe(&self, under_way: bool) -> String {
        let texts = match self.examples().len() {
            1 => String::new(),
            count => tr!(", mean over %{count} texts", count = count),
        };
        match self {
            Self::LeaveOneOut(found) => {
                let (mean, deviation) = found.random_head();
                let target = target_name(&found.spec.target);
                let so_far = if under_way { tr!(", the layers so far") } else { "" };
                let (mean, deviation) = (format!("{mean:+.4}"), format!("{deviation:.4}"));
                let what = match found.spec.target.is_cost() {
                    true => tr!("what the %{target} falls by without each head", target = target),
                    false => tr!("what the %{target} loses without each head", target = target),
                };
                let random = tr!("; a head at random: %{mean} ± %{deviation}", mean = mean, deviation = deviation);
                format!("{what}{texts}{so_far}{random}")
            }
            Self::Gradient(found) => {
                let silent = match found.silent.as_slice() {
                    [] => String::new(),
                    layers => {
                        let layers: Vec<String> = layers.iter().map(usize::to_string).collect();
                        tr!("; no signal in layer %{a}", a = layers.join(", "))
                    }
                };
                let target = target_name(&found.spec.target);
                let what = tr!("how sensitive the %{target} is to each head, scaled in each layer", target = target);
                format!("{what}{texts}{silent}")
            }
        }
    }

    /// A head's number in words.
    pub fn explain(&self, head: HeadId) -> String {
        let at = [head.layer, head.head];
        match self {
            Self::LeaveOneOut(found) => {
                let interval = found.interval.as_ref().and_then(|interval| interval.get(at));
                let interval = interval.map_or(String::new(), |half| format!(" ± {half:.5} (95 %)"));
                let effect = found.effect.get(at).copied().unwrap_or(0.0);
                let effect = format!("{effect:+.5}{interval}");
                tr!("effect %{effect}: what the target loses without this head", effect = effect)
            }
            Self::Gradient(found) => {
                let (scaled, raw) = (found.normalized.get(at), found.raw.get(at));
                let number = |value: Option<&f32>| value.copied().unwrap_or(0.0);
                let (scaled, raw) = (format!("{:.4}", number(scaled)), format!("{:.3e}", number(raw)));
                tr!("importance %{scaled}, mean |gradient| %{raw}", scaled = scaled, raw = raw)
            }
        }
    }
}

/// What is measured, in the language of the window.
fn target_name(target: &Target) -> String {
    match target {
        Target::Own => tr!("cosine with the plain vector").to_owned(),
        Target::Similarity => tr!("similarity of the pair").to_owned(),
        Target::Class(name) => tr!("probability of %{name}", name = name),
        Target::Word { token, piece } => {
            tr!("probability of “%{piece}” at token %{token}", piece = piece, token = token)
        }
        Target::Loss => tr!("loss (nats)").to_owned(),
        Target::Accuracy => tr!("accuracy").to_owned(),
    }
}

/// What is known of the ranking.
pub struct State<'a> {
    pub running: Option<&'a Progress>,
    pub outcome: Option<&'a Ranking>,
    /// The text has changed since.
    pub stale: bool,
    /// The grid shows effects in place of maps.
    pub shown: bool,
    /// The metric that the grid shows in place of maps, if it does.
    pub metric: Option<HeadMetric>,
}

/// The experiment for a text, or for a pair its similarity.
pub fn experiment(texts: Texts) -> LeaveOneOut {
    let target = if texts.b.is_some() { Target::Similarity } else { Target::Own };
    LeaveOneOut { examples: Arc::new(vec![texts.into()]), target }
}

/// The row above the grid.
pub fn row(ui: &mut Ui, state: &State<'_>, actions: &mut Vec<Action>) {
    ui.horizontal_wrapped(|ui| {
        choose_metric(ui, state, actions);
        match state.running {
            None => drop(Command::RankHeads.button(ui, true, actions)),
            Some(progress) => running(ui, progress, actions),
        }
        Command::Experiments.button(ui, true, actions);
        if let Some(metric) = state.metric.filter(|_| !state.shown) {
            ui.label(RichText::new(tr!(metric.describe())).weak());
        }
        let Some(outcome) = state.outcome else { return };
        let mut shown = state.shown;
        if ui
            .checkbox(&mut shown, tr!("Show effects"))
            .on_hover_text(tr!("Effects of heads in place of their maps"))
            .changed()
        {
            actions.push(Action::ShowEffects(shown));
        }
        if state.shown {
            let stale = if state.stale { tr!(", of an earlier text") } else { "" };
            ui.label(RichText::new(format!("{}{stale}", outcome.describe(state.running.is_some()))).weak());
        }
    });
}

/// What the grid's colours tell: weights, or a number that describes each pattern.
fn choose_metric(ui: &mut Ui, state: &State<'_>, actions: &mut Vec<Action>) {
    let title = ui.label(tr!("Colour by"));
    let shown = if state.shown && state.outcome.is_some() { None } else { state.metric };
    let name = shown.map_or(tr!("weights"), |metric| tr!(metric.name()));
    let list = egui::ComboBox::from_id_salt("metric").selected_text(name).show_ui(ui, |ui| {
        if ui.selectable_label(shown.is_none(), tr!("weights")).on_hover_text(tr!("Each head's map")).clicked() {
            actions.push(Action::Measure(None));
        }
        for metric in HeadMetric::ALL {
            if ui
                .selectable_label(shown == Some(metric), tr!(metric.name()))
                .on_hover_text(tr!(metric.describe()))
                .clicked()
            {
                actions.push(Action::Measure(Some(metric)));
            }
        }
    });
    list.response.labelled_by(title.id).on_hover_text(tr!("What a thumbnail's colour tells"));
}

/// How far an experiment has come, and a button that gives it up.
pub fn running(ui: &mut Ui, progress: &Progress, actions: &mut Vec<Action>) {
    let share = progress.done as f32 / progress.total.max(1) as f32;
    let text = tr!("%{a} of %{b}", a = progress.done, b = progress.total);
    ui.add(ProgressBar::new(share).desired_width(120.0).text(text));
    if ui.button(tr!("Cancel")).clicked() {
        actions.push(Action::CancelExperiment);
    }
}
