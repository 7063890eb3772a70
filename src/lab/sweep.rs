use std::any::Any;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tch::Tensor;

use super::gauge::{Gauge, Reading};
use super::target::{Example, Target};
use crate::engine::{Experiment, Progress};
use crate::model::{Batch, Model, ModelError, Probe, Site};
use crate::run::{HeadId, Input};

/// The output against the number of heads that are switched off, in several orders.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    pub examples: Arc<Vec<Example>>,
    pub target: Target,
    /// The orders in which heads go, each with its name.
    pub orders: Vec<Order>,
}

/// An order in which heads are switched off, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub name: String,
    pub heads: Vec<HeadId>,
}

/// The target, mean over the texts, with 0, 1, 2 … heads of an order off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    pub name: String,
    pub values: Vec<f32>,
}

/// A curve for each order.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepOutcome {
    pub spec: Sweep,
    pub curves: Vec<Curve>,
}

impl Curve {
    /// How many heads can go, in this order, before the target first is more than `share` of its plain value away from
    /// it: “lose at most 1 %” is a share of 0.01.
    pub fn heads_within(&self, share: f32) -> usize {
        let Some(plain) = self.values.first() else { return 0 };
        let within = self.values.iter().take_while(|value| (**value - plain).abs() <= share * plain.abs());
        within.count().saturating_sub(1)
    }
}

/// Rows that go through the model together.
const ROWS: usize = 25;

impl Experiment for Sweep {
    fn name(&self) -> String {
        format!("pruning curve on {} texts", self.examples.len())
    }

    fn run(
        &mut self,
        model: &Model,
        progress: &mut dyn FnMut(Progress) -> Result<(), ModelError>,
    ) -> Result<Box<dyn Any + Send>, ModelError> {
        let (layers, heads) = (model.info().layers, model.info().heads);
        for head in self.orders.iter().flat_map(|order| &order.heads) {
            head.within(layers, heads)?;
        }
        let total = self.examples.len() * self.orders.len();
        let mut sums: Vec<Vec<f64>> = self.orders.iter().map(|order| vec![0.0; order.heads.len() + 1]).collect();
        for (number, example) in self.examples.iter().enumerate() {
            let gauge = Gauge::new(model, &self.target, example)?;
            for (at, (order, sums)) in self.orders.iter().zip(&mut sums).enumerate() {
                progress(Progress::new(number * self.orders.len() + at, total))?;
                let readings: Vec<Vec<Reading>> = (gauge.inputs.iter())
                    .map(|input| pruned(model, &gauge, input, &order.heads))
                    .collect::<Result<_, _>>()?;
                for (gone, sum) in sums.iter_mut().enumerate() {
                    let sides = readings.iter().map(|side| (&side[0], &side[gone]));
                    *sum += f64::from(gauge.value(sides));
                }
            }
        }
        let count = self.examples.len().max(1) as f64;
        let curves = self.orders.iter().zip(sums).map(|(order, sums)| Curve {
            name: order.name.clone(),
            values: sums.into_iter().map(|sum| (sum / count) as f32).collect(),
        });
        Ok(Box::new(SweepOutcome { curves: curves.collect(), spec: self.clone() }))
    }
}

/// What is read of a text with none, one, two … of these heads off.
fn pruned(model: &Model, gauge: &Gauge<'_>, input: &Input, heads: &[HeadId]) -> Result<Vec<Reading>, ModelError> {
    let mut readings = Vec::with_capacity(heads.len() + 1);
    let counts: Vec<usize> = (0..=heads.len()).collect();
    for counts in counts.chunks(ROWS) {
        let batch = Batch::from_tokens(&vec![input.tokens.as_slice(); counts.len()])?;
        let last = model.encoder().forward(&batch, &mut FirstHeadsOff { heads, counts })?;
        readings.extend(gauge.read(input, &last)?);
    }
    Ok(readings)
}

/// In each row of the batch, the first so many heads of the order hand on nothing.
struct FirstHeadsOff<'a> {
    heads: &'a [HeadId],
    counts: &'a [usize],
}

impl Probe for FirstHeadsOff<'_> {
    fn visit(&mut self, layer: usize, site: Site, tensor: Tensor) -> Result<Tensor, ModelError> {
        if site == Site::Context {
            for (row, &count) in self.counts.iter().enumerate() {
                for head in self.heads[..count].iter().filter(|head| head.layer == layer) {
                    let _ = tensor.f_select(0, row as i64)?.f_select(0, head.head as i64)?.f_zero_()?;
                }
            }
        }
        Ok(tensor)
    }
}
