//! Tests that docs/tcp.md contains the table of options and profiles.
//!
//!
//! `UPDATE=1 cargo test -p sojourn-spec --test document` writes the table there.

use sojourn_spec::tcp::markdown;
use std::fs;

const BEGIN: &str = "<!-- tcp options: begin -->\n";
const END: &str = "<!-- tcp options: end -->";

#[test]
fn the_document_holds_the_table_of_options() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tcp.md");
    let text = fs::read_to_string(path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("a begin marker");
    let (table, after) = rest.split_once(END).expect("an end marker");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, format!("{before}{BEGIN}{}{END}{after}", markdown())).unwrap();
    } else {
        assert!(table == markdown(), "docs/tcp.md is out of date: UPDATE=1 cargo test -p sojourn-spec --test document");
    }
}
