//! The window's languages. What it says stands in `locales/window.yml`, under its English form.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A sentence in the language of the window; what is filled in follows it, as in `tr!("%{n} tokens", n = 5)`.
macro_rules! tr {
    ($sentence:expr) => {
        $crate::gui::lang::fixed($sentence)
    };
    ($sentence:literal, $($filled:tt)*) => {
        rust_i18n::t!($sentence, $($filled)*).into_owned()
    };
}

/// Marks a sentence that [`tr`] is given later.
macro_rules! key {
    ($sentence:literal) => {
        $sentence
    };
}

pub(super) use {key, tr};

/// A sentence without gaps.
pub fn fixed(sentence: &'static str) -> &'static str {
    match rust_i18n::t!(sentence) {
        Cow::Borrowed(found) => found,
        // One that is not in the file stays as it is.
        Cow::Owned(_) => sentence,
    }
}

/// A language of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Language {
    /// Chinese where the system speaks it, else English.
    #[default]
    System,
    English,
    Chinese,
}

impl Language {
    pub const ALL: [Self; 3] = [Self::System, Self::English, Self::Chinese];

    /// Each language is named in itself.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => tr!("As the system"),
            Self::English => "English",
            Self::Chinese => "简体中文",
        }
    }

    /// Makes the window speak it.
    pub fn speak(self) {
        let chinese = match self {
            Self::System => sys_locale::get_locale().is_some_and(|locale| locale.to_lowercase().starts_with("zh")),
            Self::English => false,
            Self::Chinese => true,
        };
        rust_i18n::set_locale(if chinese { "zh-CN" } else { "en" });
    }
}
