//! Reading a target off the last hidden state.

use std::sync::Arc;

use tch::{Kind, Tensor};

use super::target::{Example, Target};
use crate::metrics::cosine;
use crate::model::{Model, ModelError};
use crate::run::{Embedding, Input, Scale, Segment, Task, TaskInfo, Texts};

/// A target, made ready to be read for one example.
pub(super) struct Gauge<'a> {
    model: &'a Model,
    /// What goes through the model: one text, or both halves of a pair.
    pub inputs: Vec<Input>,
    kind: Measure,
}

/// What is read.
enum Measure {
    /// A vector of each input, for cosines.
    Own,
    Similarity,
    /// A number from a task head's logits.
    Head {
        task: Task,
        scale: Scale,
        what: What,
    },
}

/// What of a task head's logits is read. Each answer is a row of them, by token where the head is on tokens, with the
/// class that is right there.
enum What {
    Probability { tokens: Vec<usize>, class: usize },
    Loss(Answers),
    Accuracy(Answers),
}

struct Answers {
    /// The rows of logits that count; empty for a head on the whole text.
    tokens: Vec<usize>,
    right: Right,
}

enum Right {
    /// For each row its class.
    Classes(Vec<usize>),
    /// Of the one row, the classes that hold.
    Set(Vec<bool>),
    Number(f32),
    /// Where the answer starts and ends among the rows.
    Span(usize, usize),
}

/// What was read of one input in one state of the model.
pub(super) enum Reading {
    Vector(Embedding),
    Number(f32),
}

impl<'a> Gauge<'a> {
    /// # Errors
    /// [`ModelError`] if the model has nothing to read the target from, or the example does not fit it.
    pub fn new(model: &'a Model, target: &Target, example: &Example) -> Result<Self, ModelError> {
        if matches!(target, Target::Own | Target::Similarity) {
            model.needs_vectors()?;
        }
        let tokenize = |texts: Texts| model.tokenize(&Arc::new(texts));
        let mut input = tokenize(example.texts.clone())?;
        let head = |info: &TaskInfo, what| Measure::Head { task: info.task, scale: info.scale, what };
        let kind = match target {
            Target::Own => Measure::Own,
            Target::Similarity => {
                let b = example.texts.b.clone().ok_or_else(|| bad("similarity needs pairs of texts"))?;
                let inputs = vec![tokenize(Texts::single(&*example.texts.a))?, tokenize(Texts::single(b))?];
                return Ok(Self { model, inputs, kind: Measure::Similarity });
            }
            Target::Class(name) => {
                let info = task(model, Task::SequenceClassification)?;
                head(info, What::Probability { tokens: Vec::new(), class: class_of(info, name)? })
            }
            Target::Word { token, piece } => {
                let info = task(model, Task::MaskedLm)?;
                model.mask(&mut input, &[*token])?;
                head(info, What::Probability { tokens: vec![*token], class: piece_of(model, piece)? })
            }
            Target::Loss | Target::Accuracy => {
                let info = model.info().tasks.first().filter(|info| info.task != Task::NextSentence);
                let info = info.ok_or_else(|| {
                    bad("the targets loss and accuracy need a model with a task head, and this one has none")
                })?;
                let answers = answers(model, info, &input, example.answer.as_deref().unwrap_or_default())?;
                match (target, &answers.right) {
                    (Target::Accuracy, Right::Number(_)) => {
                        return Err(bad("a regression has no accuracy: take the target loss"));
                    }
                    (Target::Accuracy, _) => head(info, What::Accuracy(answers)),
                    _ => head(info, What::Loss(answers)),
                }
            }
        };
        Ok(Self { model, inputs: vec![input], kind })
    }

    /// What each row of a batch of one of the inputs says, `last` being `[batch, token, hidden]`.
    pub fn read(&self, input: &Input, last: &Tensor) -> Result<Vec<Reading>, ModelError> {
        match &self.kind {
            Measure::Own | Measure::Similarity => {
                Ok(self.model.embeddings(input, last)?.into_iter().map(Reading::Vector).collect())
            }
            Measure::Head { .. } => {
                let numbers = Vec::<f32>::try_from(self.numbers(last)?.f_to_kind(Kind::Float)?)?;
                Ok(numbers.into_iter().map(Reading::Number).collect())
            }
        }
    }

    /// The target, from each input's reading in the plain model and in the state to judge.
    pub fn value<'r>(&self, sides: impl Iterator<Item = (&'r Reading, &'r Reading)>) -> f32 {
        let sides: Vec<_> = sides.collect();
        match (&self.kind, sides.as_slice()) {
            (Measure::Own, [(Reading::Vector(plain), Reading::Vector(now))]) => {
                cosine(plain.values.view(), now.values.view())
            }
            (Measure::Similarity, [(_, Reading::Vector(a)), (_, Reading::Vector(b))]) => {
                cosine(a.values.view(), b.values.view())
            }
            (Measure::Head { .. }, [(_, Reading::Number(number))]) => *number,
            _ => f32::NAN, // readings of another gauge
        }
    }

    /// The target as a tensor without dimensions that gradients can be taken of, from each input's last hidden state
    /// `[1, token, hidden]`.
    pub fn differentiable(&self, lasts: &[Tensor]) -> Result<Tensor, ModelError> {
        match (&self.kind, lasts) {
            (Measure::Similarity, [a, b]) => {
                let (a, b) = (self.vector(0, a)?, self.vector(1, b)?);
                let lengths = a.f_norm()?.f_mul(&b.f_norm()?)?;
                Ok(a.f_dot(&b)?.f_div(&lengths)?)
            }
            (Measure::Own, _) => Err(bad(
                "the target self is at its maximum in the plain model, so its gradient is 0: take another target, or \
                 leave-one-out",
            )),
            (Measure::Head { what: What::Accuracy(_), .. }, _) => {
                Err(bad("accuracy goes in steps and has no gradient: take the target loss, or leave-one-out"))
            }
            (_, [last]) => Ok(self.numbers(last)?.f_select(0, 0)?),
            _ => Err(ModelError::Empty),
        }
    }

    /// The vector of one of the inputs.
    fn vector(&self, input: usize, last: &Tensor) -> Result<Tensor, ModelError> {
        let input = self.inputs.get(input).ok_or(ModelError::Empty)?;
        Ok(self.model.vectors(input, last)?.f_select(0, 0)?)
    }

    /// One number a row of the batch, `[batch]`, from a task head.
    fn numbers(&self, last: &Tensor) -> Result<Tensor, ModelError> {
        let Measure::Head { task, scale, what } = &self.kind else { return Err(ModelError::Empty) };
        let tokens = match what {
            What::Probability { tokens, .. } => tokens,
            What::Loss(answers) | What::Accuracy(answers) => &answers.tokens,
        };
        // [batch, row, class]: a head on the whole text has one row.
        let mut logits = self.model.encoder().answer(*task, last, Some(tokens))?;
        if logits.dim() == 2 {
            logits = logits.f_unsqueeze(1)?;
        }
        match what {
            What::Probability { class, .. } => {
                let chosen =
                    |t: Tensor| -> Result<Tensor, ModelError> { Ok(t.f_select(2, *class as i64)?.f_select(1, 0)?) };
                match scale {
                    Scale::Softmax => chosen(logits.f_softmax(-1, Kind::Float)?),
                    Scale::Sigmoid => chosen(logits.f_sigmoid()?),
                    Scale::Raw => chosen(logits),
                }
            }
            What::Loss(answers) => loss(&logits, &answers.right),
            What::Accuracy(answers) => accuracy(&logits, &answers.right),
        }
    }
}

/// Mean over the answers of −ln of the right class's probability; of a regression the squared difference.
fn loss(logits: &Tensor, right: &Right) -> Result<Tensor, ModelError> {
    let (batch, rows, _) = logits.size3()?;
    Ok(match right {
        Right::Classes(classes) => {
            let surprise = logits.f_log_softmax(-1, Kind::Float)?.f_neg()?;
            let index = index(classes, batch)?.f_unsqueeze(2)?;
            surprise.f_gather(2, &index, false)?.f_mean_dim([1, 2].as_slice(), false, Kind::Float)?
        }
        Right::Set(holds) => {
            let holds: Vec<f32> = holds.iter().map(|&holds| f32::from(u8::from(holds))).collect();
            let wanted = Tensor::f_from_slice(&holds)?.f_view([1, 1, -1])?.f_expand_as(logits)?;
            let none: Option<&Tensor> = None;
            let each = logits.f_binary_cross_entropy_with_logits(&wanted, none, none, tch::Reduction::None)?;
            each.f_mean_dim([1, 2].as_slice(), false, Kind::Float)?
        }
        Right::Number(number) => logits.f_select(2, 0)?.f_select(1, 0)?.f_sub_scalar(f64::from(*number))?.f_square()?,
        Right::Span(start, end) => {
            // [batch, 2, token]: over tokens, where the answer starts and where it ends.
            let surprise = logits.f_transpose(1, 2)?.f_log_softmax(-1, Kind::Float)?.f_neg()?;
            let index = index(&[*start, *end], batch)?.f_unsqueeze(2)?;
            debug_assert!((*end as i64) < rows);
            surprise.f_gather(2, &index, false)?.f_mean_dim([1, 2].as_slice(), false, Kind::Float)?
        }
    })
}

/// The share of answers that are right, `[batch]`.
fn accuracy(logits: &Tensor, right: &Right) -> Result<Tensor, ModelError> {
    let (batch, ..) = logits.size3()?;
    let share = |hits: Tensor| -> Result<Tensor, ModelError> {
        Ok(hits.f_to_kind(Kind::Float)?.f_mean_dim([1].as_slice(), false, Kind::Float)?)
    };
    match right {
        Right::Classes(classes) => share(logits.f_argmax(-1, false)?.f_eq_tensor(&index(classes, batch)?)?),
        Right::Set(holds) => {
            let holds = Tensor::f_from_slice(holds)?.f_view([1, -1])?;
            share(logits.f_select(1, 0)?.f_gt(0.0)?.f_eq_tensor(&holds)?.f_all_dim(1, true)?)
        }
        Right::Span(start, end) => {
            let found = logits.f_transpose(1, 2)?.f_argmax(-1, false)?; // [batch, 2]
            share(found.f_eq_tensor(&index(&[*start, *end], batch)?)?.f_all_dim(1, true)?)
        }
        Right::Number(_) => Err(ModelError::Empty),
    }
}

/// The same numbers for each row of a batch: `[batch, numbers]`.
fn index(numbers: &[usize], batch: i64) -> Result<Tensor, ModelError> {
    let numbers: Vec<i64> = numbers.iter().map(|&number| number as i64).collect();
    Ok(Tensor::f_from_slice(&numbers)?.f_unsqueeze(0)?.f_repeat([batch, 1])?)
}

fn bad(cause: &str) -> ModelError {
    ModelError::Unfit(cause.to_owned())
}

fn task(model: &Model, task: Task) -> Result<&TaskInfo, ModelError> {
    model.info().task(task).ok_or(ModelError::NoTask(task))
}

fn class_of(info: &TaskInfo, name: &str) -> Result<usize, ModelError> {
    let by_name = info.labels.iter().position(|label| label == name);
    let found = by_name.or_else(|| name.parse().ok().filter(|class| *class < info.labels.len()));
    found.ok_or_else(|| bad(&format!("there is no class “{name}”: this model has {}", info.labels.join(", "))))
}

fn piece_of(model: &Model, piece: &str) -> Result<usize, ModelError> {
    let found = model.piece_id(piece).map(|id| id as usize);
    found.ok_or_else(|| {
        bad(&format!("“{piece}” is no piece of this model's vocabulary: write one piece, such as cat or ##s"))
    })
}

/// The right answer to an example, as numbers.
fn answers(model: &Model, info: &TaskInfo, input: &Input, answer: &str) -> Result<Answers, ModelError> {
    let words: Vec<&str> = answer.split_whitespace().collect();
    let counts = |found: usize, wanted: usize, of: &str| {
        bad(&format!("“{}” has {wanted} {of}, and the answer “{answer}” {found}", input.texts.a))
    };
    Ok(match info.task {
        Task::SequenceClassification => {
            let right = match info.scale {
                Scale::Softmax => Right::Classes(vec![class_of(info, answer)?]),
                Scale::Raw => {
                    let number = answer.parse().map_err(|_| bad(&format!("“{answer}” is no number")))?;
                    Right::Number(number)
                }
                Scale::Sigmoid => {
                    let mut holds = vec![false; info.labels.len()];
                    for name in answer.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                        holds[class_of(info, name)?] = true;
                    }
                    Right::Set(holds)
                }
            };
            Answers { tokens: Vec::new(), right }
        }
        Task::MaskedLm => {
            let mask = model.info().mask.as_ref().ok_or(ModelError::NoMask)?;
            let tokens: Vec<usize> =
                (0..input.tokens.len()).filter(|&token| input.tokens[token].id == mask.id).collect();
            if tokens.len() != words.len() || tokens.is_empty() {
                return Err(counts(words.len(), tokens.len(), &mask.piece));
            }
            let pieces = words.iter().map(|word| piece_of(model, word)).collect::<Result<_, _>>()?;
            Answers { tokens, right: Right::Classes(pieces) }
        }
        Task::TokenClassification => {
            let tokens = first_tokens_of_words(input);
            if tokens.len() != words.len() || tokens.is_empty() {
                return Err(counts(words.len(), tokens.len(), "words"));
            }
            let classes = words.iter().map(|name| class_of(info, name)).collect::<Result<_, _>>()?;
            Answers { tokens, right: Right::Classes(classes) }
        }
        Task::QuestionAnswering => {
            let (start, end) = span_of(input, answer)?;
            Answers { tokens: (0..input.tokens.len()).collect(), right: Right::Span(start, end) }
        }
        Task::NextSentence => return Err(ModelError::NoTask(info.task)),
    })
}

/// The first token of each word of the text, words being what blanks part.
fn first_tokens_of_words(input: &Input) -> Vec<usize> {
    let text = input.texts.a.as_str();
    let ends = text.split_whitespace().map(|word| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        start..start + word.len()
    });
    let token = |word: std::ops::Range<usize>| {
        input
            .tokens
            .iter()
            .position(|token| token.segment == Segment::A && token.span.is_some_and(|span| word.contains(&span.start)))
    };
    ends.filter_map(token).collect()
}

/// The first and the last token of an answer that stands in the second text.
fn span_of(input: &Input, answer: &str) -> Result<(usize, usize), ModelError> {
    let text = input.texts.b.as_deref().unwrap_or_default();
    let at = text.find(answer).filter(|_| !answer.is_empty());
    let at = at.ok_or_else(|| bad(&format!("the answer “{answer}” does not stand in the text “{text}”")))?;
    let covers = |byte: usize| {
        input.tokens.iter().position(|token| {
            token.segment == Segment::B && token.span.is_some_and(|span| span.range().contains(&byte))
        })
    };
    let ends = covers(at).zip(covers(at + answer.len() - 1));
    ends.ok_or_else(|| bad(&format!("the answer “{answer}” is beyond the model's last position")))
}
