//! Paths of fields: `links.bottleneck.queue.min`, `flows[0].access.delay`.
//!
//! A path addresses an element of a list by its name (`links.bottleneck`, or `links.R0->R1` for a link without a name) or by its position
//! (`links[0]`). A name that contains a dot is quoted.

use crate::error::{Error, unknown};
pub(crate) use sojourn_spec::written::Step;
use toml::{Table, Value};

/// The maximum number of elements of a path.
const DEEPEST: usize = 32;

/// Parses a path into steps.
///
/// # Errors
/// The text is not a path. The error has the reason.
pub(crate) fn parse(path: &str) -> Result<Vec<Step>, Error> {
    let bad = |why: &str| Error::new("", format!("expected a path such as links.bottleneck.queue.min, got \"{path}\": {why}"));
    let mut steps = Vec::new();
    let mut rest = path.trim();
    loop {
        let (key, after) = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => rest[1..].split_once(quote).ok_or_else(|| bad("a quote is not closed"))?,
            _ => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
        };
        if key.is_empty() {
            return Err(bad("an element is empty"));
        }
        steps.push(Step::Key(key.to_string()));
        rest = after;
        while let Some(index) = rest.strip_prefix('[') {
            let (digits, after) = index.split_once(']').ok_or_else(|| bad("a bracket is not closed"))?;
            steps.push(Step::Index(digits.trim().parse().map_err(|_| bad("a position is not a whole number"))?));
            rest = after;
        }
        if steps.len() > DEEPEST {
            return Err(bad("it has too many elements"));
        }
        match rest.strip_prefix('.') {
            Some(after) => rest = after,
            None if rest.is_empty() => return Ok(steps),
            None => return Err(bad("after an element comes a dot or a bracket")),
        }
    }
}

/// A name as an element of a path, quoted if it contains a dot, a bracket or a quote.
pub(crate) fn element(name: &str) -> String {
    if name.is_empty() || name.contains(['.', '[', ']', '"', '\'']) { format!("\"{name}\"") } else { name.to_string() }
}

/// The name of an element of `links` or `flows`.
/// It is the explicit name, or the default name of a link.
fn name_of(value: &Value) -> Option<String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    match text("name") {
        Some(name) => Some(name.to_string()),
        None => Some(format!("{}->{}", text("from")?, text("to")?)),
    }
}

/// The steps of a path, with positions instead of names of list elements.
/// Positions are those in `table`, as far as it has them. Two paths of one field are then equal.
///
/// # Errors
/// The text is not a path.
pub(crate) fn resolved(table: &Table, path: &str) -> Result<Vec<Step>, Error> {
    let steps = parse(path)?;
    let known = (0..=steps.len()).rev().find_map(|n| concrete(table, &steps[..n])).unwrap_or_default();
    Ok(known.iter().chain(&steps[known.len()..]).cloned().collect())
}

/// The paths of the fields that a path with `*` in the name of a list element selects.
/// `links.*.queue` selects every link, `links.core*.queue` those whose names begin with "core". Other paths are returned unchanged.
///
/// # Errors
/// The text is not a path, or a pattern selects nothing.
pub(crate) fn selected(table: &Table, path: &str) -> Result<Vec<String>, Error> {
    let mut found = vec![Vec::new()];
    for step in parse(path)? {
        let mut next = Vec::new();
        for steps in found {
            match (&step, list_at(table, &steps)) {
                (Step::Key(pattern), Some(list)) if pattern.contains('*') && find(list, pattern).is_none() => {
                    let names = list.iter().map(|value| name_of(value).unwrap_or_default());
                    let chosen: Vec<usize> = names.enumerate().filter(|(_, name)| matches(pattern, name)).map(|(i, _)| i).collect();
                    if chosen.is_empty() {
                        let names: Vec<String> = list.iter().filter_map(name_of).collect();
                        return Err(Error::new(path, unknown("pattern ", pattern, &names)));
                    }
                    next.extend(chosen.into_iter().map(|i| [&steps[..], &[Step::Index(i)]].concat()));
                }
                _ => next.push([&steps[..], std::slice::from_ref(&step)].concat()),
            }
        }
        found = next;
    }
    Ok(if found.len() == 1 && !path.contains('*') {
        vec![path.to_string()]
    } else {
        found.iter().map(|steps| by_name(table, steps)).collect()
    })
}

/// The list at these steps, if there is one.
fn list_at<'a>(table: &'a Table, steps: &[Step]) -> Option<&'a Vec<Value>> {
    let (Step::Key(first), rest) = steps.split_first()? else { return None };
    let next = |value: &'a Value, step: &Step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(i) => value.get(*i),
    };
    rest.iter().try_fold(table.get(first)?, next)?.as_array()
}

/// Whether a name matches a pattern, in which `*` is any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => {
            let tail = name.strip_prefix(head);
            tail.is_some_and(|tail| tail.char_indices().map(|(i, _)| i).chain([tail.len()]).any(|i| matches(rest, &tail[i..])))
        }
    }
}

/// Replaces names of list elements by positions; `None` if `table` lacks the path.
pub(crate) fn concrete(table: &Table, steps: &[Step]) -> Option<Vec<Step>> {
    let mut found = Vec::with_capacity(steps.len());
    let mut here: Option<&Value> = None;
    for step in steps {
        let (next, step) = match (here, step) {
            (None, Step::Key(key)) => (table.get(key)?, step.clone()),
            (Some(Value::Table(inner)), Step::Key(key)) => (inner.get(key)?, step.clone()),
            (Some(Value::Array(list)), Step::Index(i)) => (list.get(*i)?, step.clone()),
            (Some(Value::Array(list)), Step::Key(name)) => {
                let i = find(list, name)?;
                (list.get(i)?, Step::Index(i))
            }
            _ => return None,
        };
        here = Some(next);
        found.push(step);
    }
    Some(found)
}

/// The position of the element called `name`.
fn find(list: &[Value], name: &str) -> Option<usize> {
    list.iter().position(|value| name_of(value).as_deref() == Some(name))
}

/// A path in the user's notation: list elements by name if they have one.
pub(crate) fn by_name(table: &Table, steps: &[Step]) -> String {
    let mut text = String::new();
    let root = Value::Table(table.clone());
    let mut here = Some(&root);
    for step in steps {
        let next = here.and_then(|value| match step {
            Step::Key(key) => value.get(key),
            Step::Index(i) => value.get(i),
        });
        let name = next.and_then(name_of);
        match step {
            Step::Index(i) if !matches!(next, Some(Value::Table(_))) || name.is_none() => text.push_str(&format!("[{i}]")),
            _ => {
                if !text.is_empty() {
                    text.push('.');
                }
                match (step, name) {
                    (Step::Index(_), Some(name)) => text.push_str(&element(&name)),
                    (Step::Key(key), _) => text.push_str(&element(key)),
                    (Step::Index(i), None) => text.push_str(&i.to_string()),
                }
            }
        }
        here = next;
    }
    text
}

/// Sets the field at `path` to `value`.
/// Missing tables of the path are added. Elements of lists must exist.
///
/// # Errors
/// The text is not a path, the path leads through something that is neither a table nor a list, or an element does not exist.
pub fn set_path(table: &mut Table, path: &str, value: Value) -> Result<(), Error> {
    let steps = parse(path)?;
    let (Some((last, parents)), Some(Step::Key(first))) = (steps.split_last(), steps.first()) else {
        return Err(Error::new(path, "expected a path that begins with a key, got a position"));
    };
    if parents.is_empty() {
        table.insert(first.clone(), value);
        return Ok(());
    }
    let mut here = table.entry(first.clone()).or_insert_with(|| Value::Table(Table::new()));
    for step in &parents[1..] {
        here = enter(here, step, path)?;
    }
    match (here, last) {
        (Value::Table(inner), Step::Key(key)) => {
            inner.insert(key.clone(), value);
        }
        (here, step) => *enter(here, step, path)? = value,
    }
    Ok(())
}

/// Returns the value at a step. If a table lacks the key, adds an empty table.
fn enter<'a>(here: &'a mut Value, step: &Step, path: &str) -> Result<&'a mut Value, Error> {
    match (here, step) {
        (Value::Table(inner), Step::Key(key)) => Ok(inner.entry(key.clone()).or_insert_with(|| Value::Table(Table::new()))),
        (Value::Array(list), Step::Index(i)) => {
            let count = list.len();
            list.get_mut(*i).ok_or_else(|| Error::got(path, format!("position {i}"), format!("one below {count}")))
        }
        (Value::Array(list), Step::Key(name)) => match find(list, name) {
            Some(i) => Ok(&mut list[i]),
            None => {
                let names: Vec<String> = list.iter().filter_map(name_of).collect();
                Err(Error::new(path, unknown("name ", name, &names)))
            }
        },
        (Value::Table(_), Step::Index(i)) => Err(Error::got(path, format!("position {i} of a table"), "a key")),
        (other, _) => Err(Error::new(
            path,
            format!("expected a path through tables and lists, got {}, which is neither a table nor a list", other.type_str()),
        )),
    }
}

/// Parses a value of a command line: TOML if possible, else text.
pub fn value(text: &str) -> Value {
    let read = format!("value = {text}").parse::<Table>().ok();
    match read {
        Some(mut table) if table.len() == 1 => table.remove("value").unwrap_or_else(|| Value::String(text.to_string())),
        _ => Value::String(text.to_string()),
    }
}

/// The steps of a path as text, with positions as digits.
///
/// # Errors
/// The text is not a path.
pub fn split_path(path: &str) -> Result<Vec<String>, Error> {
    let text = |step| match step {
        Step::Key(key) => key,
        Step::Index(position) => position.to_string(),
    };
    Ok(parse(path)?.into_iter().map(text).collect())
}

/// A name as a step of a path, quoted if it contains a dot, a bracket or a quotation mark.
#[must_use]
pub fn path_element(name: &str) -> String {
    element(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        "seed = 1\n[[links]]\nname = \"up\"\nfrom = \"A\"\nto = \"B\"\n[[links]]\nfrom = \"B\"\nto = \"A\"\n".parse().unwrap()
    }

    #[test]
    fn a_field_is_set_by_name_by_position_and_in_a_table_that_was_missing() {
        let mut table = sample();
        set_path(&mut table, "seed", Value::Integer(7)).unwrap();
        set_path(&mut table, "links.up.queue.min", Value::Integer(5)).unwrap();
        set_path(&mut table, "links.B->A.rate", value("\"1 Mbit/s\"")).unwrap();
        set_path(&mut table, "links[1].delay", value("10 ms")).unwrap();
        set_path(&mut table, "tcp.window", value("20 packets")).unwrap();
        assert_eq!(table["seed"].as_integer(), Some(7));
        assert_eq!(table["links"][0]["queue"]["min"].as_integer(), Some(5));
        assert_eq!(table["links"][1]["rate"].as_str(), Some("1 Mbit/s"));
        assert_eq!(table["links"][1]["delay"].as_str(), Some("10 ms"));
        assert_eq!(table["tcp"]["window"].as_str(), Some("20 packets"));
    }

    #[test]
    fn a_path_of_nothing_gives_an_error_with_the_reason() {
        let mut table = sample();
        let mut problem = |path: &str| set_path(&mut table, path, Value::Integer(1)).unwrap_err().to_string();
        assert!(problem("links.upp.rate").contains("did you mean \"up\"?"));
        assert!(problem("links[7].rate").contains("one below 2"));
        assert!(problem("seed.x").contains("neither a table nor a list"));
        for path in ["", ".", "a..b", "a.", "[0]", "a[", "a[x]", "a]b[0]c", "\"a", "a[99999999999999999999]"] {
            let _ = problem(path);
        }
    }

    #[test]
    fn a_star_selects_the_list_elements_whose_names_match() {
        let table = "[[links]]\nname = \"core1\"\n[[links]]\nname = \"core2\"\n[[links]]\nname = \"edge\"\n".parse().unwrap();
        let chosen = |path: &str| selected(&table, path).unwrap().join(" ");
        assert_eq!(chosen("links.*.rate"), "links.core1.rate links.core2.rate links.edge.rate");
        assert_eq!(chosen("links.c*2.queue.min"), "links.core2.queue.min");
        assert_eq!(chosen("links.core*.rate"), "links.core1.rate links.core2.rate");
        assert_eq!(chosen("links.edge.rate"), "links.edge.rate");
        assert_eq!(chosen("flows.*"), "flows.*", "the scenario has no such list");
        assert!(selected(&table, "links.up*.rate").unwrap_err().to_string().contains("expected one of core1, core2, edge"));
    }

    #[test]
    fn names_replace_positions_and_positions_names() {
        let table = sample();
        let steps = [Step::Key("links".into()), Step::Index(0), Step::Key("rate".into())];
        assert_eq!(by_name(&table, &steps), "links.up.rate");
        assert_eq!(by_name(&table, &[Step::Key("x".into()), Step::Index(3)]), "x[3]");
        assert_eq!(concrete(&table, &parse("links.up.from").unwrap()).unwrap()[1], Step::Index(0));
    }

    #[test]
    fn a_value_of_the_command_line_is_toml_or_text() {
        assert_eq!(value("3"), Value::Integer(3));
        assert_eq!(value("10 ms"), Value::String("10 ms".into()));
        assert!(value("{ aqm = \"red\" }").is_table());
        assert_eq!(value("1\nx = 2"), Value::String("1\nx = 2".into()));
    }
}
