//! Reading models and running them, with a model that is made here.

#![allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

mod tiny;

use std::fs;
use std::path::Path;

use deadweight_embed::{Key, Meanings, Model, State, Vector};
use proptest::prelude::*;
use tempfile::TempDir;
use tiny::Tiny;

const TEXTS: [&str; 6] = [
    "Read the file.",
    "",
    "unreadable mails, 中文 and cafés",
    "e-mail",
    "a a a a a a a a a a a a a a a a a a a a a a a a",
    "send mail to the reader",
];

fn folder() -> (TempDir, Tiny) {
    let folder = tempfile::tempdir().unwrap();
    let tiny = Tiny::new(3);
    tiny.write(folder.path());
    (folder, tiny)
}

fn words(tokens: &[u32]) -> String {
    tokens.iter().map(|token| tiny::PIECES[*token as usize]).collect::<Vec<_>>().join(" ")
}

#[test]
fn text_is_cut_into_the_longest_pieces() {
    let (folder, _) = folder();
    let check = |model: &Model| {
        for (text, pieces) in [
            ("Read the file.", "read the file ."),
            ("READING,reads", "read ##ing , read ##s"),
            ("unreadable", "un ##read ##able"),
            ("Café cafe\u{301} CAFÉ", "cafe cafe cafe"),
            ("中文", "中 文"),
            ("e-mail\tm\u{0}ail", "e - mail mail"),
            ("zebra a [SEP]", "[UNK] a [UNK] [UNK] [UNK]"),
            ("", ""),
        ] {
            let wanted = format!("[CLS] {pieces} [SEP]").replace("  ", " ");
            assert_eq!(words(&model.tokens(text)), wanted, "{text:?}");
        }
        let long = "a".repeat(101);
        assert_eq!(words(&model.tokens(&long)), "[CLS] [UNK] [SEP]");
        assert_eq!(model.tokens(TEXTS[4]).len(), tiny::POSITIONS, "cut at what the model reads");
        assert_eq!(model.tokens(TEXTS[4]).last(), Some(&3));
        assert!(model.tokens(&"x".repeat(1 << 22)).len() <= tiny::POSITIONS);
    };
    check(&Model::open(folder.path()).unwrap());
    fs::write(folder.path().join("tokenizer.json"), tiny::tokenizer()).unwrap();
    fs::remove_file(folder.path().join("vocab.txt")).unwrap();
    check(&Model::open(folder.path()).unwrap());
}

#[test]
fn vectors_are_those_of_the_same_network_written_plainly() {
    let (folder, tiny) = folder();
    let model = Model::open(folder.path()).unwrap();
    assert_eq!(model.dimensions(), tiny::HIDDEN);
    for (text, vector) in TEXTS.iter().zip(model.embed(&TEXTS)) {
        let plain = tiny.vector(&model.tokens(text));
        for (ours, plain) in vector.iter().zip(&plain) {
            assert!((f64::from(*ours) - plain).abs() < 2e-5, "{text:?}: {ours} and {plain}");
        }
    }
}

#[test]
fn a_vector_does_not_depend_on_what_is_embedded_with_it() {
    let (folder, _) = folder();
    let model = Model::open(folder.path()).unwrap();
    let many: Vec<&str> = TEXTS.iter().cycle().take(200).copied().collect();
    let together = model.embed(&many);
    for (text, vector) in many.iter().zip(&together) {
        assert_eq!(&model.embed(&[text])[0], vector, "{text:?}");
    }
    assert!(model.embed(&[]).is_empty());
}

#[test]
fn weights_may_have_a_prefix_and_half_the_bits() {
    let (folder, tiny) = folder();
    let whole = Model::open(folder.path()).unwrap();
    let weights = folder.path().join("model.safetensors");
    fs::write(&weights, tiny.safetensors("bert.", "F32")).unwrap();
    let prefixed = Model::open(folder.path()).unwrap();
    assert_eq!(whole.embed(&TEXTS), prefixed.embed(&TEXTS));
    assert_ne!(whole.hash(), prefixed.hash());
    fs::write(&weights, tiny.safetensors("", "BF16")).unwrap();
    let halves = Model::open(folder.path()).unwrap();
    for (a, b) in whole.embed(&TEXTS).iter().zip(halves.embed(&TEXTS)) {
        assert!(Vector::new(a).cosine(&Vector::new(&b)) > 0.99);
    }
}

#[test]
fn the_first_token_can_stand_for_all() {
    let (folder, _) = folder();
    let mean = Model::open(folder.path()).unwrap().embed(&TEXTS);
    fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    let modules = r#"[{"path":"","type":"a.Transformer"},{"path":"1_Pooling","type":"a.Pooling"}]"#;
    fs::write(folder.path().join("modules.json"), modules).unwrap();
    let pooling = r#"{"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false}"#;
    fs::write(folder.path().join("1_Pooling/config.json"), pooling).unwrap();
    assert_ne!(Model::open(folder.path()).unwrap().embed(&TEXTS), mean);
}

/// What is said of a folder in which one file is another.
fn refusal(name: &str, text: &str) -> String {
    let (folder, _) = folder();
    fs::write(folder.path().join(name), text).unwrap();
    said(folder.path())
}

fn said(folder: &Path) -> String {
    let error = Model::open(folder).unwrap_err().to_string();
    error.replace(&folder.display().to_string(), "FOLDER")
}

#[test]
fn what_cannot_be_used_is_refused_with_the_file_and_the_reason() {
    let mut all = String::new();
    let mut tell = |said: String| all.push_str(&format!("{said}\n"));
    let config = tiny::config();
    for (from, to) in [
        ("\"bert\"", "\"roberta\""),
        ("\"gelu\"", "\"swish\""),
        ("\"num_hidden_layers\":2", "\"num_hidden_layers\":2000000"),
        ("\"num_attention_heads\":3", "\"num_attention_heads\":5"),
        ("\"num_hidden_layers\":2", "\"num_hidden_layers\":3"),
        ("\"hidden_size\":12", "\"hidden_size\":24"),
        ("\"vocab_size\":28", "\"vocab_size\":20"),
    ] {
        tell(refusal("config.json", &config.replace(from, to)));
    }
    tell(refusal("config.json", "{}"));
    tell(refusal("config.json", "not JSON"));
    tell(refusal("vocab.txt", "a\nb"));
    tell(refusal("tokenizer.json", &tiny::tokenizer().replace("WordPiece", "BPE")));
    tell(refusal("tokenizer.json", &tiny::tokenizer().replace("BertPreTokenizer", "Metaspace")));
    tell(refusal("modules.json", r#"[{"path":"2_Dense","type":"sentence_transformers.models.Dense"}]"#));
    tell(refusal("modules.json", r#"[{"path":"../../etc","type":"a.Pooling"}]"#));
    tell(refusal("model.safetensors", ""));
    tell(refusal("model.safetensors", "12345678901234567890"));
    tell(refusal("model.safetensors", "\u{2}\0\0\0\0\0\0\0{}"));
    let (folder, tiny) = folder();
    let weights = folder.path().join("model.safetensors");
    let mut short = tiny.safetensors("", "F32");
    short.truncate(short.len() - 4);
    fs::write(&weights, short).unwrap();
    tell(said(folder.path()));
    fs::write(&weights, [&tiny.safetensors("", "F32")[..], &[0; 3]].concat()).unwrap();
    assert!(Model::open(folder.path()).is_ok(), "what nothing refers to does no harm");
    fs::remove_file(&weights).unwrap();
    tell(said(folder.path()));
    fs::create_dir(&weights).unwrap();
    tell(said(folder.path()));
    insta::assert_snapshot!(all);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_change_of_any_file_makes_it_fail_otherwise_than_by_saying_so(
        file in 0..4_usize, at in any::<prop::sample::Index>(), with in prop::collection::vec(any::<u8>(), 0..12), cut in any::<bool>()
    ) {
        let (folder, _) = folder();
        fs::write(folder.path().join("tokenizer.json"), tiny::tokenizer()).unwrap();
        let vocabulary = file == 3;
        if vocabulary {
            fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
        }
        let name = ["config.json", "model.safetensors", "tokenizer.json", "vocab.txt"][file];
        let path = folder.path().join(name);
        let mut bytes = fs::read(&path).unwrap();
        // Most of the weights are numbers: their header is what can be wrong.
        let at = at.index(bytes.len().min(4000));
        if cut { bytes.truncate(at) }
        let end = (at + with.len()).min(bytes.len());
        let start = at.min(end);
        bytes.splice(start..end, with);
        fs::write(&path, bytes).unwrap();
        if let Ok(model) = Model::open(folder.path()) {
            prop_assert_eq!(model.embed(&TEXTS).len(), TEXTS.len());
        }
    }

    #[test]
    fn any_text_has_a_vector(text in ".{0,60}") {
        let (folder, _) = folder();
        let model = Model::open(folder.path()).unwrap();
        let vector = &model.embed(&[&text])[0];
        let length: f32 = vector.iter().map(|x| x * x).sum();
        prop_assert!((length - 1.0).abs() < 1e-4, "{length}");
    }
}

#[test]
fn texts_are_embedded_in_the_background_and_kept() {
    let (folder, _) = folder();
    let cache = tempfile::tempdir().unwrap();
    let keys = TEXTS.map(|text| Key::of(&[text]));
    let first = Meanings::start(folder.path(), Some(cache.path()));
    first.learn(TEXTS.map(|text| [text]));
    first.learn(TEXTS.map(|text| [text]));
    first.wait();
    assert!(matches!(first.state(), State::Ready), "{:?}", first.state());
    assert_eq!(first.trouble(), None);
    let parts = first.of(&["read a file", "mail"]).unwrap();
    let cosines = first.cosines(&parts, &keys).unwrap();
    assert_eq!(cosines.len(), 6 * 2);
    let between = [TEXTS[0], TEXTS[5]];
    first.learn([between]);
    first.wait();
    let fits = first.cosines(&parts, &[Key::of(&between)]).unwrap();
    assert!(fits[0] >= cosines[0].min(cosines[10]) - 1e-3, "{fits:?} lies between {cosines:?}");
    assert!(first.cosines(&parts, &[Key::of(&["never asked for"])]).is_none());

    let kept = fs::read_dir(cache.path()).unwrap().map(|entry| entry.unwrap().path());
    let kept = kept.filter(|path| path.extension().is_none()).collect::<Vec<_>>();
    let written = fs::metadata(&kept[0]).unwrap().len();
    let second = Meanings::start(folder.path(), Some(cache.path()));
    second.learn(TEXTS.map(|text| [text]));
    second.wait();
    assert_eq!(second.cosines(&parts, &keys).unwrap(), cosines);
    assert_eq!(fs::metadata(&kept[0]).unwrap().len(), written, "nothing was embedded again");

    second.keep_only(&keys[..2]);
    assert!(second.cosines(&parts, &keys[..2]).is_some() && second.cosines(&parts, &keys).is_none());
}

#[test]
fn a_model_that_cannot_be_used_says_so_and_holds_nobody_up() {
    let empty = tempfile::tempdir().unwrap();
    let meanings = Meanings::start(empty.path(), None);
    meanings.learn(TEXTS.map(|text| [text]));
    meanings.wait();
    assert!(matches!(meanings.state(), State::Failed(_)));
    assert!(meanings.of(&["x"]).is_none() && meanings.cosines(&[], &[]).is_none());
    meanings.learn(TEXTS.map(|text| [text]));
    meanings.wait();
}

#[test]
fn a_cache_that_cannot_be_written_costs_only_the_keeping() {
    let (folder, _) = folder();
    let file = folder.path().join("config.json");
    let meanings = Meanings::start(folder.path(), Some(&file));
    meanings.learn(TEXTS.map(|text| [text]));
    meanings.wait();
    assert!(matches!(meanings.state(), State::Ready) && meanings.trouble().is_some());
    assert!(meanings.cosines(&[], &TEXTS.map(|text| Key::of(&[text]))).is_some());
}
