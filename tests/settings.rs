//! What `config.json` says is followed as `transformers` follows it, refused in one sentence, or told.
//! `tests/golden/make.py` and `tests/golden/make_settings.py` made the references.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may stop at what it did not expect

mod support;

use std::path::{Path, PathBuf};

use headlight::model::{Model, SettingRule, settings_of};
use safetensors::SafeTensors;
use serde_json::{Map, Value, json};

fn golden() -> PathBuf {
    support::clone_root().join("tests/golden")
}

/// A copy of a golden model, with changes to its config (`null` takes a field out) and to its weights' names.
struct Folder(tempfile::TempDir);

impl Folder {
    fn of(base: &str, changes: &Map<String, Value>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(golden().join(base)).unwrap().flatten() {
            std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
        let made = Self(folder);
        let mut config = made.config();
        for (field, value) in changes {
            config.insert(field.clone(), value.clone());
        }
        std::fs::write(made.path().join("config.json"), serde_json::to_vec(&config).unwrap()).unwrap();
        made
    }

    fn without(base: &str, fields: &[&str]) -> Self {
        let made = Self::of(base, &Map::new());
        let mut config = made.config();
        config.retain(|field, _| !fields.contains(&field.as_str()));
        std::fs::write(made.path().join("config.json"), serde_json::to_vec(&config).unwrap()).unwrap();
        made
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn config(&self) -> Map<String, Value> {
        serde_json::from_slice(&std::fs::read(self.path().join("config.json")).unwrap()).unwrap()
    }

    /// Takes a prefix from all names, and leaves out what `kept` does not want.
    fn renamed(self, prefix: &str, kept: impl Fn(&str) -> bool) -> Self {
        let path = self.path().join("model.safetensors");
        let bytes = std::fs::read(&path).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let views: Vec<_> = (tensors.tensors().into_iter())
            .filter(|(name, _)| kept(name))
            .map(|(name, view)| (name.strip_prefix(prefix).map(str::to_owned).unwrap_or(name), view))
            .collect();
        std::fs::write(&path, safetensors::serialize(views, None).unwrap()).unwrap();
        self
    }

    /// How far attention and last hidden state are from the reference beside the model.
    fn difference(&self) -> f32 {
        let model = Model::open(self.path()).unwrap();
        let bytes = std::fs::read(self.path().join("reference.safetensors")).unwrap();
        let reference = SafeTensors::deserialize(&bytes).unwrap();
        let run = run(&model, &reference);
        let attention: Vec<f32> = run.attention.iter().collect();
        let far = |a: &[f32], b: &[f32]| {
            assert_eq!(a.len(), b.len());
            a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
        };
        far(&attention, &floats(&reference, "attention"))
    }

    /// The one sentence that refuses the model.
    fn refusal(&self) -> String {
        let sentence = Model::open(self.path()).expect_err("it opens").to_string();
        assert!(!sentence.contains('\n'), "{sentence}");
        sentence
    }
}

fn floats(tensors: &SafeTensors<'_>, name: &str) -> Vec<f32> {
    let data = tensors.tensor(name).unwrap().data().to_vec();
    data.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}

fn run(model: &Model, reference: &SafeTensors<'_>) -> headlight::run::Run {
    let mut run = model.run(support::goldens::reference_input(model, reference), &mut ()).unwrap();
    model.answer_everywhere(&mut run).unwrap();
    run
}

fn families() -> Vec<String> {
    let names = std::fs::read_dir(golden().join("families")).unwrap().flatten();
    let mut names: Vec<String> = names.map(|entry| format!("families/{}", entry.file_name().display())).collect();
    names.push("tasks/sequence".into());
    names.sort();
    names
}

#[test]
fn without_a_model_type_the_architectures_say_the_family() {
    for base in families() {
        for model_type in [None, Some(Value::Null), Some(json!(""))] {
            let folder = Folder::without(&base, &["model_type"]);
            let mut config = folder.config();
            config.extend(model_type.map(|value| ("model_type".to_owned(), value)));
            std::fs::write(folder.path().join("config.json"), serde_json::to_vec(&config).unwrap()).unwrap();
            let far = folder.difference();
            assert!(far <= 1e-5, "{base}: {far}");
            let told = Model::open(folder.path()).unwrap().info().report.settings.join("; ");
            assert!(told.contains("its architectures name"), "{base}: {told}");
        }
    }
}

#[test]
fn without_architectures_the_weights_say_the_family_or_the_line_to_add_is_asked_for() {
    for base in families() {
        let folder = Folder::without(&base, &["model_type", "architectures"]);
        let far = folder.difference();
        assert!(far <= 1e-5, "{base}: {far}");
        let told = Model::open(folder.path()).unwrap().info().report.settings.join("; ");
        assert!(told.contains("what speaks from"), "{base}: {told}");
    }
}

#[test]
fn names_that_fit_both_are_decided_by_settings_and_tokenizer() {
    let plain = |more: Value| {
        let folder = Folder::without("families/roberta-sequence", &["model_type", "architectures", "pad_token_id"]);
        let mut config = folder.config();
        config.extend(more.as_object().unwrap().clone());
        std::fs::write(folder.path().join("config.json"), serde_json::to_vec(&config).unwrap()).unwrap();
        folder.renamed("roberta.", |name| !name.starts_with("classifier"))
    };
    // One row of segments alone is what a BERT of one segment has as well.
    let unclear = plain(json!({})).refusal();
    assert!(unclear.contains(r#"add "model_type": "bert" or "model_type": "roberta""#), "{unclear}");
    let padded = plain(json!({"pad_token_id": 1}));
    assert!(padded.difference() <= 1e-5);
    let marked = plain(json!({}));
    std::fs::write(marked.path().join("special_tokens_map.json"), r#"{"cls_token": {"content": "<s>"}}"#).unwrap();
    assert!(marked.difference() <= 1e-5);
    // Two signs that do not agree are none.
    let torn = plain(json!({"pad_token_id": 0}));
    assert!(torn.refusal().contains("pad_token_id 0 speaks for"), "{}", torn.refusal());
    let named = plain(json!({"model_type": "roberta"}));
    assert!(named.difference() <= 1e-5);
}

#[test]
fn a_family_that_is_close_to_a_known_one_is_not_read_as_it() {
    let none = Folder::without("tasks/sequence", &["model_type", "architectures"]);
    let none = none.renamed("", |name| name.starts_with("classifier"));
    assert!(none.refusal().contains("no family that is known"), "{}", none.refusal());
    let mut other = Map::new();
    other.insert("architectures".into(), json!(["RobertaPreLayerNormModel"]));
    other.insert("model_type".into(), Value::Null);
    let sentence = Folder::of("families/roberta-sequence", &other).refusal();
    assert!(sentence.contains("RobertaPreLayerNormModel") && sentence.contains("add the line"), "{sentence}");
}

/// The values of fields that `transformers` was given, and what became of the numbers.
struct Cases {
    told: Value,
    tensors: Vec<u8>,
}

impl Cases {
    fn read() -> Self {
        Self {
            told: serde_json::from_slice(&std::fs::read(golden().join("settings.json")).unwrap()).unwrap(),
            tensors: std::fs::read(golden().join("settings.safetensors")).unwrap(),
        }
    }

    fn all(&self) -> impl Iterator<Item = (usize, Case<'_>)> {
        self.told["cases"].as_array().unwrap().iter().map(Case).enumerate()
    }

    /// The greatest difference of a run from the numbers kept under a name.
    fn difference(&self, name: &str, model: &Model, reference: &Path) -> f32 {
        let ours = match std::fs::read(reference) {
            Ok(bytes) => run(model, &SafeTensors::deserialize(&bytes).unwrap()),
            // The one model that has its input in another file.
            Err(_) => model.run(model.input_from_ids("2 36 37 40 41 36 42 3").unwrap(), &mut ()).unwrap(),
        };
        let tensors = SafeTensors::deserialize(&self.tensors).unwrap();
        let hidden: Vec<f32> = ours.last_hidden_state().unwrap().iter().copied().collect();
        let logits: Vec<f32> =
            ours.outputs.first().map(|output| output.logits.iter().copied().collect()).unwrap_or_default();
        let far = |ours: &[f32], step: usize, kept: &str| {
            let kept = floats(&tensors, &format!("{name}/{kept}"));
            assert_eq!(ours.len().div_ceil(step), kept.len(), "{name}");
            ours.iter().step_by(step).zip(&kept).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
        };
        far(&hidden, 5, "hidden").max(far(&logits, 7, "logits"))
    }
}

struct Case<'c>(&'c Value);

impl Case<'_> {
    fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap()
    }

    fn folder(&self) -> Folder {
        Folder::of(self.text("base"), self.0["changes"].as_object().unwrap())
    }
}

fn family_of(base: &str) -> String {
    Folder::of(base, &Map::new()).config()["model_type"].as_str().unwrap().to_owned()
}

#[test]
fn another_value_of_a_field_gives_the_numbers_of_transformers_or_is_refused() {
    let cases = Cases::read();
    let mut wrong = Vec::new();
    for (number, case) in cases.all() {
        let folder = case.folder();
        let (base, field, outcome) = (case.text("base"), case.text("field"), case.text("outcome"));
        let rule = settings_of(&family_of(base)).unwrap().into_iter().find(|setting| setting.field == field);
        let fault = match (Model::open(folder.path()), outcome) {
            // Whatever is refused is refused in one sentence, and not what changes nothing.
            (Err(error), _) if error.to_string().contains('\n') => Some(format!("many lines: {error}")),
            (Err(error), "same") if !matches!(rule.map(|setting| setting.rule), Some(SettingRule::Followed)) => {
                Some(format!("refused, though without effect: {error}"))
            }
            (Err(_), _) => None,
            (Ok(_), "none") => Some("opens, though nothing can be computed from it".to_owned()),
            (Ok(model), _) => {
                let name = if outcome == "same" { base.to_owned() } else { number.to_string() };
                let far = cases.difference(&name, &model, &folder.path().join("reference.safetensors"));
                let named = model.info().report.settings.iter().any(|told| told.contains(field));
                match rule {
                    _ if far > 1e-5 => Some(format!("{far} away")),
                    None if !named => Some("nobody knows it, and it is not named".to_owned()),
                    _ => None,
                }
            }
        };
        wrong.extend(fault.map(|fault| format!("{base} {}: {fault}", case.0["changes"])));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_followed_field_is_not_always_refused() {
    // A table that says “followed” of a field that is refused at every value would be a lie.
    let cases = Cases::read();
    for (field, base) in [
        ("hidden_act", "tasks/sequence"),
        ("pad_token_id", "families/roberta-masked-lm"),
        ("num_hidden_groups", "families/albert-pretraining"),
        ("num_attention_heads", "families/distilbert-masked-lm"),
        ("pos_att_type", "families/deberta-v3-masked-lm"),
        ("norm_rel_ebd", "families/deberta-v3-masked-lm"),
        ("conv_act", "families/deberta-v2-token"),
        ("pooler_hidden_act", "families/deberta-v3-sequence"),
        ("layer_types", "families/modernbert-sequence"),
        ("global_rope_theta", "families/modernbert-sequence"),
        ("rope_parameters", "families/modernbert-sequence"),
        ("classifier_pooling", "families/modernbert-sequence"),
        ("decoder_bias", "families/modernbert-masked-lm"),
        ("tie_word_embeddings", "tasks/masked-lm-untied"),
    ] {
        let of = |case: &Case<'_>| case.text("field") == field && case.text("base") == base;
        let opens = cases.all().filter(|(_, case)| of(case)).any(|(_, case)| Model::open(case.folder().path()).is_ok());
        assert!(opens, "{field} of {base}");
    }
}

#[test]
fn the_tables_know_every_field_that_todays_configs_declare_and_every_rule_holds() {
    let cases = Cases::read();
    for (family, declared) in cases.told["fields"].as_object().unwrap() {
        let settings = settings_of(family).unwrap();
        for field in declared.as_array().unwrap() {
            assert!(settings.iter().any(|setting| field == setting.field), "{field} of {family} is in no table");
        }
        // Some models have what others lack: a changed value is tried where it is tried with `transformers`.
        let bases: Vec<&str> = cases.all().map(|(_, case)| case.0["base"].as_str().unwrap()).collect();
        let base = bases.iter().find(|base| family_of(base) == *family).unwrap();
        for setting in settings {
            let tried = |field: &str| {
                cases.all().any(|(_, case)| case.text("field") == field && family_of(case.text("base")) == *family)
            };
            let field = setting.field;
            let with = |value: Value| Folder::of(base, &Map::from_iter([(field.to_owned(), value)]));
            match setting.rule {
                SettingRule::Only(only) => {
                    let only: Value = serde_json::from_str(only).unwrap();
                    let other = match &only {
                        Value::Bool(value) => json!(!value),
                        Value::Number(_) => json!(0.5),
                        Value::String(_) => json!("relative_key_query"),
                        _ => json!({"kind": "another"}),
                    };
                    let sentence = with(other).refusal();
                    assert!(sentence.contains(field), "{family}: {sentence}");
                    assert!(Model::open(with(only).path()).is_ok(), "{family}: {field}");
                }
                SettingRule::Again(_) => {
                    let sentence = with(json!(7)).refusal();
                    assert!(sentence.contains(&format!("its {field} is 7, and only")), "{family}: {sentence}");
                }
                SettingRule::SameAs(name) => {
                    assert!(tried(field), "{field} of {family}");
                    let sentence = with(json!(3)).refusal();
                    assert!(sentence.contains(field) && sentence.contains(name), "{family}: {sentence}");
                }
                SettingRule::Told(_) => {
                    let told = Model::open(with(json!({"AutoModel": "code.Own"})).path())
                        .unwrap()
                        .info()
                        .report
                        .settings
                        .join(";");
                    assert!(told.contains(field), "{family}: {told}");
                }
                // These are names, and the shape of what was cut out.
                SettingRule::Followed
                    if [
                        "model_type",
                        "architectures",
                        "id2label",
                        "problem_type",
                        "pruned_heads",
                        "headlight_note",
                    ]
                    .contains(&field) => {}
                SettingRule::Followed => assert!(tried(field), "{field} of {family} is not tried with transformers"),
                SettingRule::NoEffect => {}
            }
        }
    }
}

#[test]
fn every_field_without_effect_has_none_on_our_numbers_and_is_not_called_unknown() {
    let cases = Cases::read();
    let mut seen = std::collections::BTreeSet::new();
    for (_, case) in cases.all() {
        let base = case.text("base");
        let family = family_of(base);
        if !seen.insert(family.clone()) {
            continue;
        }
        let mut changes = Map::new();
        for setting in settings_of(&family).unwrap() {
            if let SettingRule::NoEffect = setting.rule {
                changes.insert(setting.field.to_owned(), json!(3));
            }
        }
        let folder = Folder::of(base, &changes);
        let model = Model::open(folder.path()).unwrap();
        assert_eq!(model.info().report.settings, Vec::<String>::new(), "{family}");
        let far = cases.difference(base, &model, &folder.path().join("reference.safetensors"));
        assert!(far <= 1e-5, "{family}: {far}");
    }
    assert_eq!(seen.len(), 10);
}

#[test]
fn fields_that_nobody_knows_are_named() {
    let changes = json!({"n_layers": 3, "made_up": [1], "hidden_dropout_prob": 0.2});
    let folder = Folder::of("tasks/sequence", changes.as_object().unwrap());
    let told = Model::open(folder.path()).unwrap().info().report.settings.clone();
    assert_eq!(told, ["not known in this family, and not followed: made_up, n_layers"]);
}

#[test]
fn a_padding_id_that_positions_cannot_be_counted_from_is_told_as_that() {
    for (value, words) in [
        (json!(-1), "its pad_token_id is -1, and this family counts positions from it on"),
        (json!(null), "its pad_token_id is null, and this family counts positions from it on"),
        (json!(30), "its pad_token_id is 30, and this family counts positions from it on"),
        (json!("1"), "pad_token_id is \"1\", which is no whole number"),
        (json!(1.5), "pad_token_id is 1.5, which is no whole number"),
    ] {
        for base in ["families/roberta-sequence", "families/xlm-roberta-token", "families/camembert-question"] {
            let folder = Folder::of(base, &Map::from_iter([("pad_token_id".to_owned(), value.clone())]));
            let sentence = folder.refusal();
            assert!(sentence.contains(words), "{base}: {sentence}");
        }
    }
}

#[test]
fn settings_inside_settings_are_followed_or_refused_as_well() {
    for (changes, words) in [
        (json!({"rope_parameters": {"full_attention": {"rope_type": "yarn", "factor": 4.0}}}), "rope_type is yarn"),
        (
            json!({"rope_parameters": {"full_attention": {"rope_type": "default", "partial_rotary_factor": 0.5}}}),
            "partial_rotary_factor",
        ),
        (json!({"classifier_pooling": "max"}), "classifier_pooling is max"),
        (json!({"global_rope_theta": "far", "rope_parameters": null}), "global_rope_theta is \"far\""),
        (json!({"num_hidden_layers": 2}), "layer_types names 3 layers"),
    ] {
        let sentence = Folder::of("families/modernbert-sequence", changes.as_object().unwrap()).refusal();
        assert!(sentence.contains(words), "{sentence}");
    }
}
