//! What task heads answer: the plain model's answer beside the edited one's.

use egui::{Grid, ProgressBar, RichText, ScrollArea, Ui};
use ndarray::ArrayView1;

use super::action::Action;
use super::lang::tr;
use crate::engine::Ran;
use crate::figure::printable;
use crate::metrics::{best_spans, greatest, kl_divergence, rank};
use crate::run::{Input, Role, Run, Scale, Segment, Task, TaskInfo, TaskOutput};

/// Guesses that are shown for a masked token.
const GUESSES: usize = 10;
/// Answers that are shown to a question, and how many tokens one may have.
const SPANS: usize = 5;
const LONGEST_SPAN: usize = 30;

/// Everything that the task heads of the model answer to this text.
pub fn show(ui: &mut Ui, ran: &Ran, edited: bool, actions: &mut Vec<Action>) {
    let report = &ran.run.model.report;
    if let Some(task) = report.headless {
        ui.label(RichText::new(capital(task.name())).strong());
        let text = tr!(
            "The file of weights lacks this head, so it answers nothing: %{names}",
            names = report.missing.join(", ")
        );
        ui.label(RichText::new(format!("⚠ {text}")).color(ui.visuals().warn_fg_color));
    }
    for info in &ran.run.model.tasks {
        let (Some(plain), Some(now)) = (ran.plain.output(info.task), ran.run.output(info.task)) else { continue };
        let answer = Answer { info, plain, now, run: &ran.run, edited };
        match info.task {
            Task::MaskedLm => masked_words(ui, &answer, actions),
            // Of a single text there is no next one to judge.
            Task::NextSentence if ran.run.input.texts.b.is_none() => {}
            Task::SequenceClassification | Task::NextSentence => classes(ui, &answer),
            Task::TokenClassification => labels(ui, &answer),
            Task::QuestionAnswering => spans(ui, &answer),
        }
    }
}

/// A task head's answer in both models.
struct Answer<'a> {
    info: &'a TaskInfo,
    plain: &'a TaskOutput,
    now: &'a TaskOutput,
    run: &'a Run,
    edited: bool,
}

impl Answer<'_> {
    /// A number in the plain model, and where there are edits in the edited one, with the difference.
    fn numbers(&self, plain: f32, now: f32) -> String {
        match (self.edited, self.info.scale) {
            (false, Scale::Raw) => format!("{plain:.4}"),
            (true, Scale::Raw) => format!("{plain:.4} → {now:.4} ({:+.4})", now - plain),
            (false, _) => percent(plain),
            (true, _) => format!("{} → {} ({:+.2})", percent(plain), percent(now), (now - plain) * 100.0),
        }
    }

    fn probabilities(&self, row: usize) -> (Vec<f32>, Vec<f32>) {
        let of = |output: &TaskOutput| self.info.scale.apply(&output.logits.row(row).to_vec());
        (of(self.plain), of(self.now))
    }
}

fn percent(share: f32) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.01 { format!("{percent:.0e} %") } else { format!("{percent:.2} %") }
}

/// The tokens, each to be masked by a click, then for each mask the best guesses.
fn masked_words(ui: &mut Ui, answer: &Answer<'_>, actions: &mut Vec<Action>) {
    let input = &answer.run.input;
    ui.horizontal_wrapped(|ui| {
        ui.label(tr!("Click a word to mask it:"));
        ui.spacing_mut().item_spacing.x = 2.0;
        for (at, token) in input.tokens.iter().enumerate().filter(|(_, token)| token.role == Role::Word) {
            let masked = input.masked.iter().find(|masked| masked.token == at);
            let name = match masked {
                Some(masked) => format!("[{}]", printable(&masked.piece)),
                None => printable(token.label()),
            };
            let help = if masked.is_some() {
                tr!("Show this token to the model again")
            } else {
                tr!("Hide this token from the model")
            };
            if ui.selectable_label(masked.is_some(), name).on_hover_text(help).clicked() {
                actions.push(Action::ToggleMask(at));
            }
        }
    });
    if answer.now.tokens.is_empty() || answer.plain.tokens != answer.now.tokens {
        return;
    }
    ScrollArea::horizontal().id_salt("guesses").show(ui, |ui| {
        ui.horizontal_top(|ui| {
            for (row, &token) in answer.now.tokens.iter().enumerate() {
                ui.vertical(|ui| guesses(ui, answer, row, token));
                ui.separator();
            }
        });
    });
}

fn guesses(ui: &mut Ui, answer: &Answer<'_>, row: usize, token: usize) {
    let model = &answer.run.model;
    let (plain, now) = answer.probabilities(row);
    let original = answer.run.input.masked.iter().find(|masked| masked.token == token);
    if let Some(original) = original {
        let id = original.id as usize;
        let (before, after) = (rank(ArrayView1::from(&plain), id), rank(ArrayView1::from(&now), id));
        let place = if answer.edited { format!("{before} → {after}") } else { before.to_string() };
        let likely = answer.numbers(plain.get(id).copied().unwrap_or(0.0), now.get(id).copied().unwrap_or(0.0));
        ui.label(tr!(
            "“%{a}” is guess %{place}, %{likely}",
            a = printable(&original.piece),
            place = place,
            likely = likely
        ))
        .on_hover_text(tr!("The place and the probability of the word that stands in the text"));
    } else {
        ui.label(tr!("Token %{token}", token = token));
    }
    if answer.edited {
        let divergence = kl_divergence(answer.plain.logits.row(row), answer.now.logits.row(row));
        ui.label(tr!(
            "KL divergence from the plain model: %{divergence} nats",
            divergence = format!("{:.4}", divergence)
        ))
        .on_hover_text(tr!("Σ p ln(p / q) over the vocabulary, p in the plain model, q in the edited one"));
    }
    let columns = [greatest(ArrayView1::from(&plain), GUESSES), greatest(ArrayView1::from(&now), GUESSES)];
    Grid::new(("guesses", token)).num_columns(if answer.edited { 4 } else { 2 }).striped(true).show(ui, |ui| {
        if answer.edited {
            for title in [tr!("Plain model"), "", tr!("Edited model"), ""] {
                ui.label(RichText::new(title).strong());
            }
            ui.end_row();
        }
        for place in 0..GUESSES.min(plain.len()) {
            for column in columns.iter().take(if answer.edited { 2 } else { 1 }) {
                let (id, likely) = column[place];
                let own = original.is_some_and(|original| original.id as usize == id);
                let piece = RichText::new(printable(model.piece(id)));
                ui.label(if own { piece.strong().underline() } else { piece });
                ui.label(percent(likely));
            }
            ui.end_row();
        }
    });
}

/// All classes of the whole text.
fn classes(ui: &mut Ui, answer: &Answer<'_>) {
    let (plain, now) = answer.probabilities(0);
    ui.label(RichText::new(capital(answer.info.task.name())).strong());
    ScrollArea::vertical().id_salt(answer.info.task.word()).max_height(160.0).show(ui, |ui| {
        Grid::new(answer.info.task.word()).num_columns(3).show(ui, |ui| {
            for (class, label) in answer.info.labels.iter().enumerate() {
                ui.label(printable(label));
                if answer.info.scale != Scale::Raw {
                    ui.add(ProgressBar::new(now[class]).desired_width(140.0).desired_height(10.0));
                }
                ui.label(answer.numbers(plain[class], now[class]));
                ui.end_row();
            }
        });
    });
}

/// The text with the class of each token under it.
fn labels(ui: &mut Ui, answer: &Answer<'_>) {
    ui.label(RichText::new(capital(answer.info.task.name())).strong());
    let input = &answer.run.input;
    ScrollArea::horizontal().id_salt("labels").show(ui, |ui| {
        ui.horizontal_top(|ui| {
            for (row, &token) in answer.now.tokens.iter().enumerate() {
                let Some(token) = input.tokens.get(token).filter(|token| token.role == Role::Word) else { continue };
                let (plain, now) = answer.probabilities(row);
                let best =
                    |shares: &[f32]| greatest(ArrayView1::from(shares), 1).first().map_or(0, |(class, _)| *class);
                let (before, after) = (best(&plain), best(&now));
                let name =
                    |class: usize| answer.info.labels.get(class).map(|label| printable(label)).unwrap_or_default();
                ui.vertical(|ui| {
                    ui.label(RichText::new(printable(token.label())).strong());
                    let label =
                        if before == after { name(after) } else { format!("{} → {}", name(before), name(after)) };
                    let color = if before == after { ui.visuals().text_color() } else { ui.visuals().warn_fg_color };
                    let help: Vec<String> = greatest(ArrayView1::from(&now), 5)
                        .into_iter()
                        .map(|(class, _)| format!("{}: {}", name(class), answer.numbers(plain[class], now[class])))
                        .collect();
                    ui.label(RichText::new(label).color(color)).on_hover_text(help.join("\n"));
                });
            }
        });
    });
}

/// The best answers to the question, in the plain and in the edited model.
fn spans(ui: &mut Ui, answer: &Answer<'_>) {
    ui.label(RichText::new(capital(answer.info.task.name())).strong());
    let input = &answer.run.input;
    if input.texts.b.is_none() {
        ui.label(
            RichText::new(tr!("The sentence is the question: a second sentence is the text to look for its answer in"))
                .weak(),
        );
        return;
    }
    let may_answer = |token: usize| {
        input.tokens.get(token).is_some_and(|token| token.segment == Segment::B && token.role == Role::Word)
    };
    let best = |output: &TaskOutput| best_spans(output.logits.view(), may_answer, LONGEST_SPAN, SPANS);
    let (plain, now) = (best(answer.plain), best(answer.now));
    Grid::new("spans").num_columns(2).striped(true).show(ui, |ui| {
        if answer.edited {
            ui.label(RichText::new(tr!("Plain model")).strong());
            ui.label(RichText::new(tr!("Edited model")).strong());
            ui.end_row();
        }
        for (plain, now) in plain.iter().zip(&now) {
            for span in [plain, now].into_iter().take(if answer.edited { 2 } else { 1 }) {
                ui.label(format!("{}  {}", percent(span.probability), words(input, span.start, span.end)));
            }
            ui.end_row();
        }
    });
}

/// The text from one token to another, both included, as it was typed.
fn words(input: &Input, first: usize, last: usize) -> String {
    let span = |token: usize| input.tokens.get(token).and_then(|token| token.span);
    let text = input.texts.b.as_deref().unwrap_or_default();
    let words = span(first).zip(span(last)).and_then(|(first, last)| text.get(first.start..last.end));
    printable(words.unwrap_or_default())
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
