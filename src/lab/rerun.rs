use std::any::Any;
use std::sync::Arc;

use crate::engine::{Experiment, Progress};
use crate::model::{Model, ModelError, Sources};
use crate::run::Recipe;

/// Makes a run again from its recipe, beside the one that is shown. The outcome is an `Arc<Run>`.
#[derive(Debug, Clone, PartialEq)]
pub struct Rerun {
    pub recipe: Recipe,
}

impl Experiment for Rerun {
    fn name(&self) -> String {
        "a pinned run".into()
    }

    fn run(
        &mut self,
        model: &Model,
        progress: &mut dyn FnMut(Progress) -> Result<(), ModelError>,
    ) -> Result<Box<dyn Any + Send>, ModelError> {
        let mut sources = Sources::kept();
        sources.prepare(model, &self.recipe.edits, &mut |done, total| progress(Progress::new(done, total)))?;
        Ok(Box::new(Arc::new(model.run_recipe(&self.recipe, &mut sources)?)))
    }
}
