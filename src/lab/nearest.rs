use std::any::Any;
use std::sync::Arc;

use crate::engine::{Experiment, Progress};
use crate::metrics::{cosine, none_last};
use crate::model::{Model, ModelError, Sources};
use crate::run::{Edit, Texts};

/// Which of many sentences are nearest to one, by cosine of their embeddings, before and after edits on heads.
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest {
    pub query: String,
    pub sentences: Arc<Vec<String>>,
    pub edits: Vec<Edit>,
}

/// One sentence's similarity with the query, −1 to 1, in the plain and in the edited model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    /// Place in the list of sentences, counted from 0.
    pub sentence: usize,
    pub plain: f32,
    pub edited: f32,
}

/// All sentences' similarities, in the order of the list.
#[derive(Debug, Clone, PartialEq)]
pub struct NearestOutcome {
    pub spec: Nearest,
    pub neighbours: Vec<Neighbour>,
}

impl NearestOutcome {
    /// The nearest so many, nearest first, by a similarity such as `|neighbour| neighbour.plain`. Of equals, the one
    /// that comes first in the list.
    pub fn nearest(&self, most: usize, by: impl Fn(&Neighbour) -> f32) -> Vec<Neighbour> {
        let mut sorted = self.neighbours.clone();
        sorted.sort_by(|a, b| none_last(by(b)).total_cmp(&none_last(by(a))));
        sorted.truncate(most);
        sorted
    }
}

impl Experiment for Nearest {
    fn name(&self) -> String {
        format!("nearest of {} sentences", self.sentences.len())
    }

    fn run(
        &mut self,
        model: &Model,
        progress: &mut dyn FnMut(Progress) -> Result<(), ModelError>,
    ) -> Result<Box<dyn Any + Send>, ModelError> {
        let mut sources = Sources::default();
        let mut embed = |text: &str, edits: &[Edit]| {
            let input = model.tokenize(&Arc::new(Texts::single(text)))?;
            model.embed(input, edits, &mut sources)
        };
        let (plain, edited) = (embed(&self.query, &[])?, embed(&self.query, &self.edits)?);
        let mut neighbours = Vec::with_capacity(self.sentences.len());
        for (sentence, text) in self.sentences.iter().enumerate() {
            progress(Progress::new(sentence, self.sentences.len()))?;
            let before = cosine(plain.values.view(), embed(text, &[])?.values.view());
            let after = if self.edits.is_empty() {
                before
            } else {
                cosine(edited.values.view(), embed(text, &self.edits)?.values.view())
            };
            neighbours.push(Neighbour { sentence, plain: before, edited: after });
        }
        Ok(Box::new(NearestOutcome { spec: self.clone(), neighbours }))
    }
}
