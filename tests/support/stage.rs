//! A window with a scripted engine at the other end of its link.
#![allow(dead_code)] // each binary uses its own part

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::support::runs::{model_info, run_of, run_with};
use egui::accesskit::Role;
use egui::{OutputCommand, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use egui_kittest::{Harness, Node};
use headlight::engine::{Command, Half, Job, Link, Outcome, Ran, Request, RequestId, Response};
use headlight::gui::{HeadlightApp, Opening};
use headlight::run::{Embedding, ModelInfo, Pooling, Recipe, Run, Texts};

/// The models that the window offers.
fn models() -> Vec<(String, std::path::PathBuf)> {
    vec![("multilingual-other".into(), "models/other".into())]
}

/// What a window keeps, in memory. The language is English, whatever the system's is.
pub struct Kept(pub BTreeMap<String, String>);

impl Default for Kept {
    fn default() -> Self {
        Self([("language".to_owned(), "English".to_owned())].into())
    }
}

impl eframe::Storage for Kept {
    fn get_string(&self, key: &str) -> Option<String> {
        self.0.get(key).cloned()
    }

    fn set_string(&mut self, key: &str, value: String) {
        self.0.insert(key.to_owned(), value);
    }

    fn remove_string(&mut self, key: &str) {
        self.0.remove(key);
    }

    fn flush(&mut self) {}
}

/// Both sides: the window, and the engine that the test plays.
pub struct Stage {
    pub harness: Harness<'static, HeadlightApp>,
    pub commands: Receiver<Command>,
    pub responses: Sender<Response>,
    pub info: Arc<ModelInfo>,
}

impl Stage {
    /// A window that has asked for its model, and not heard of it yet.
    pub fn silent(texts: Texts) -> Self {
        Self::after(None, texts)
    }

    /// As [`silent`](Self::silent), with what a window before has kept.
    pub fn after(kept: Option<&dyn eframe::Storage>, texts: Texts) -> Self {
        let (commands, from_window) = channel();
        let (responses, to_window) = channel();
        let opening = Opening { texts, model: Ok("models/scripted".into()), models: models(), session: None };
        let harness = Harness::builder()
            .with_size(vec2(1280.0, 720.0))
            .allow_missing_glyphs()
            // Threads that compare runs ask for frames of their own whenever they are done.
            .with_max_steps(64)
            .build_eframe(move |_| HeadlightApp::new(Link::new(commands, to_window), opening, kept));
        Self { harness, commands: from_window, responses, info: model_info(2, 3) }
    }

    /// A window that has asked for a model, which will be this one.
    pub fn with_model(info: Arc<ModelInfo>, texts: Texts) -> Self {
        Self { info, ..Self::silent(texts) }
    }

    /// A window with a model and the picture of a text.
    pub fn with_text(text: &str) -> Self {
        let mut stage = Self::silent(Texts::single(text));
        stage.play();
        stage
    }

    /// What the window has sent since the last call.
    pub fn requests(&mut self) -> Vec<Request> {
        let submitted = |command| match command {
            Command::Submit(request) => Some(request),
            Command::Cancel(_) => None,
        };
        self.commands.try_iter().filter_map(submitted).collect()
    }

    pub fn send(&mut self, response: Response) {
        self.responses.send(response).unwrap();
        self.harness.run();
    }

    pub fn done(&mut self, id: RequestId, run: Run) {
        let run = Arc::new(run);
        self.send(Response::Done { id, outcome: Outcome::Run(Ran { plain: run.clone(), run, halves: None }) });
    }

    /// Answers everything as a real engine would, the last text alone being run. Gives the texts that were asked for.
    pub fn play(&mut self) -> Vec<Texts> {
        self.harness.run();
        self.answer().into_iter().map(|forward| (*forward.texts).clone()).collect()
    }

    /// As `play`, and gives the edits that were asked for last.
    pub fn operate(&mut self) -> Vec<String> {
        self.harness.run();
        let last = self.answer().pop().expect("something was asked for");
        last.edits.iter().map(ToString::to_string).collect()
    }

    pub fn answer(&mut self) -> Vec<Recipe> {
        let mut asked: Vec<(RequestId, Recipe)> = Vec::new();
        for Request { id, job } in self.requests() {
            match job {
                Job::Load(_) => self.send(Response::Done { id, outcome: Outcome::Loaded(self.info.clone()) }),
                Job::Forward(forward) => asked.push((id, forward)),
                Job::Experiment(_) => panic!("the window asked for an experiment"),
            }
        }
        if let Some(((id, forward), replaced)) = asked.split_last() {
            for (id, _) in replaced {
                self.send(Response::Cancelled { id: *id });
            }
            let plain = Arc::new(run_of(&self.info, &forward.texts));
            // An edited run looks elsewhere in its last layer, so that it can be told from the plain one.
            let edited = run_with(&self.info, &forward.texts, |layer, head, query, key| {
                let distance = if layer == 1 { head + 2 } else { head };
                if query.abs_diff(key) == distance { 1.0 } else { 0.05 }
            });
            let run = if forward.edits.is_empty() {
                plain.clone()
            } else {
                Arc::new(Run { edits: forward.edits.clone(), ..edited })
            };
            // Both halves are alike in the plain model, and at a right angle in the edited one.
            let vector = |values: [f32; 2]| Embedding { values: values.to_vec().into(), pooling: Pooling::default() };
            let half = |edited| Half { plain: vector([1.0, 0.0]), edited: vector(edited) };
            let edited = if forward.edits.is_empty() { [1.0, 0.0] } else { [0.0, 1.0] };
            let halves = forward.texts.b.as_ref().map(|_| Box::new([half([1.0, 0.0]), half(edited)]));
            self.send(Response::Done { id: *id, outcome: Outcome::Run(Ran { run, plain, halves }) });
        }
        asked.into_iter().map(|(_, forward)| forward).collect()
    }

    /// Lets the threads beside the window come to their end, however long that takes, and shows what they made.
    pub fn finish_work(&mut self) {
        while self.harness.state().work_held() > 0 {
            self.harness.step();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        // What is finished is taken in at the next step, and shown at the one behind it.
        self.harness.run_steps(4);
    }

    /// Shows what is made on other threads, until that shows a text.
    pub fn until(&mut self, text: &str) {
        // What is made may ask for more.
        for _ in 0..4 {
            self.harness.step();
            self.finish_work();
            if self.shows(text) {
                return;
            }
        }
        panic!("{text:?} never came");
    }

    pub fn text_box<'a>(&'a self, name: &'a str) -> Node<'a> {
        self.harness.get_by_role_and_label(Role::TextInput, name)
    }

    pub fn shows(&self, text: &str) -> bool {
        self.harness.query_all_by_label_contains(text).next().is_some()
    }

    pub fn heatmap(&self) -> Node<'_> {
        self.harness.get_by(|node| {
            node.role() == Role::Image && node.label().is_some_and(|label| label.starts_with("Attention of"))
        })
    }

    pub fn heatmap_name(&self) -> String {
        self.heatmap().accesskit_node().label().unwrap_or_default()
    }

    /// What was put on the clipboard in the last frame.
    pub fn copied(&self) -> Vec<String> {
        let commands = &self.harness.output().platform_output.commands;
        let text = |command: &OutputCommand| match command {
            OutputCommand::CopyText(text) => Some(text.clone()),
            _ => None,
        };
        commands.iter().filter_map(text).collect()
    }
}
