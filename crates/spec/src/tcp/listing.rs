//! The table of options in docs/tcp.md.

use super::{OPTIONS, PROFILES};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A Markdown table with one row per option: value in each profile, summary and sources.
pub fn markdown() -> String {
    let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
    let mut text = format!("| option | {} | what it does | sources |\n|---|{}---|---|\n", names.join(" | "), "---|".repeat(names.len()));
    for option in OPTIONS {
        let values: Vec<String> = PROFILES.iter().map(|profile| (option.show)(&(profile.options)())).collect();
        let mut sources = String::from(option.source);
        for profile in PROFILES {
            if let Some((_, source)) = profile.sources.iter().find(|(name, _)| *name == option.name) {
                sources += &format!("; {}: {source}", profile.name);
            }
        }
        text += &format!("| `{}` | {} | {} | {sources} |\n", option.name, values.join(" | "), option.sentence);
    }
    text
}
