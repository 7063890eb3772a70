//! Runs made by hand, for what needs no model.

use std::sync::Arc;
use std::time::Duration;

use headlight::run::{
    AttentionMaps, Embedding, Input, ModelInfo, Pooling, Role, Run, Segment, Span, Texts, Token, UnknownCause,
};
use ndarray::{Array1, Array2, Array3};

pub fn model_info(layers: usize, heads: usize) -> Arc<ModelInfo> {
    Arc::new(ModelInfo {
        name: "scripted".into(),
        folder: "models/scripted".into(),
        family: "bert".into(),
        layers,
        heads,
        hidden: 4 * heads,
        head_dim: 4,
        positions: 512,
        vocabulary: 100,
        parameters: 1000,
        has_tokenizer: true,
        has_pooler: false,
        pooling: Pooling::default(),
        prefixes: Vec::new(),
        pruned: Default::default(),
        tasks: Vec::new(),
        mask: None,
        pieces: Default::default(),
        report: Default::default(),
        note: None,
    })
}

/// Words split at spaces between `[CLS]` and `[SEP]`, with the weights that `weight(layer, head, query, key)` gives,
/// each row scaled to the sum 1.
pub fn run_with(info: &Arc<ModelInfo>, texts: &Arc<Texts>, weight: impl Fn(usize, usize, usize, usize) -> f32) -> Run {
    let marker = |piece: &str, segment| Token {
        id: 2,
        piece: piece.into(),
        shown: None,
        span: None,
        word: None,
        segment,
        type_id: 0,
        role: Role::Special,
        unknown: None,
    };
    let mut tokens = vec![marker("[CLS]", Segment::A)];
    for (text, segment) in [(Some(&texts.a), Segment::A), (texts.b.as_ref(), Segment::B)] {
        let Some(text) = text else { continue };
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            tokens.push(Token {
                id: 7,
                span: Some(Span { start, end: start + word.len() }),
                word: Some(tokens.len() - 1),
                role: Role::Word,
                unknown: match word {
                    "[UNK]" => Some(UnknownCause::Script { name: "Han".into(), letters: 0 }),
                    "😀" => Some(UnknownCause::Symbol),
                    _ => None,
                },
                ..marker(if word == "😀" { "[UNK]" } else { word }, segment)
            });
        }
        tokens.push(marker("[SEP]", segment));
    }
    let n = tokens.len();
    let layers = (0..info.layers).map(|layer| {
        let mut weights =
            Array3::from_shape_fn((info.heads, n, n), |(head, query, key)| weight(layer, head, query, key));
        for mut row in weights.rows_mut() {
            row /= row.sum();
        }
        Arc::new(weights)
    });
    Run {
        model: info.clone(),
        input: Input { texts: texts.clone(), full_length: n, tokens, limit: None, unread: false, masked: Vec::new() },
        attention: AttentionMaps::from_layers(layers.collect()).unwrap(),
        computed: None,
        edits: Vec::new(),
        remarks: Vec::new(),
        context: Vec::new(),
        hidden: (0..=info.layers).map(|_| Arc::new(Array2::zeros((n, info.hidden)))).collect(),
        pooler_output: None,
        embedding: Some(Embedding { values: Array1::zeros(info.hidden), pooling: Pooling::default() }),
        outputs: Vec::new(),
        elapsed: Duration::from_micros(12_300),
    }
}

/// Each head looks at a token of its own distance.
pub fn run_of(info: &Arc<ModelInfo>, texts: &Arc<Texts>) -> Run {
    run_with(info, texts, |layer, head, query, key| if query.abs_diff(key) == layer + head { 1.0 } else { 0.05 })
}
