//! Questions of the page and their answers.

use crate::numbers::Numbers;
use crate::{law, run, stability};
use serde_json::{Map, Value, json};
use sojourn_scenario::{Checked, Document};

/// An answer.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Answer {
    /// A JSON object. If it has a field `error`, it has no other.
    pub json: String,
    /// The concatenated columns of numbers to which the JSON refers.
    pub numbers: Vec<f64>,
}

/// Answers a question.
/// The answer is an error if it needs more events, flows or memory than a page has: see [`crate::MOST_EVENTS`].
pub fn answer(question: &str) -> Answer {
    let mut numbers = Numbers::default();
    match answered(question, &mut numbers) {
        Ok(json) => Answer { json: json.to_string(), numbers: numbers.all() },
        Err(error) => Answer { json: json!({ "error": error }).to_string(), numbers: Vec::new() },
    }
}

fn answered(question: &str, numbers: &mut Numbers) -> Result<Value, String> {
    let question: Map<String, Value> = serde_json::from_str(question).map_err(|error| format!("question: {error}"))?;
    let question = Question(question);
    match question.text("ask")? {
        "table" => Ok(json!({ "table": question.document()?.table() })),
        "toml" => {
            let table = question.0.get("table").map(Value::to_string).unwrap_or_default();
            let document = Document::from_json(question.file(), &table).map_err(|error| error.to_string())?;
            Ok(json!({ "toml": document.table().to_string() }))
        }
        "run" => {
            let (checked, warnings) = question.document()?.check_with_lints().map_err(|error| error.to_string())?;
            let mut answer = run::run(checked, question.seed()?, question.text("watch").ok(), numbers)?;
            answer["warnings"] = warnings.iter().map(ToString::to_string).collect();
            Ok(answer)
        }
        "loop" => stability::stability(&question.checked()?, question.seed()?, question.text("link")?, numbers),
        "surface" => law::surface(&question.checked()?, question.text("link")?, numbers),
        other => Err(format!("ask: expected one of table, toml, run, loop, surface, got \"{other}\"")),
    }
}

/// The fields of a question.
struct Question(Map<String, Value>);

impl Question {
    fn text(&self, key: &str) -> Result<&str, String> {
        let found = self.0.get(key);
        found.and_then(Value::as_str).ok_or_else(|| format!("{key}: expected text, got {}", found.unwrap_or(&Value::Null)))
    }

    fn file(&self) -> &str {
        self.text("file").unwrap_or("scenario.toml")
    }

    fn seed(&self) -> Result<Option<u64>, String> {
        match self.0.get("seed") {
            None | Some(Value::Null) => Ok(None),
            Some(seed) => seed.as_u64().map(Some).ok_or_else(|| format!("seed: expected a whole number, 0 or more, got {seed}")),
        }
    }

    fn document(&self) -> Result<Document, String> {
        Document::from_toml(self.file(), self.text("toml")?).map_err(|error| error.to_string())
    }

    fn checked(&self) -> Result<Checked, String> {
        self.document()?.check().map_err(|error| error.to_string())
    }
}
