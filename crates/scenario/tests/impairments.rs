//! Impairments in scenario files.

use sojourn_link::{ImpairmentConfig, Place, kinds::loss};
use sojourn_scenario::Document;

fn checked(link: &str) -> Result<sojourn_scenario::Checked, String> {
    let text = format!("duration = \"1 s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\n{link}");
    let document = Document::from_toml("x.toml", &text).map_err(|error| error.to_string())?;
    document.check().map_err(|error| error.to_string())
}

fn loss(probability: f64, place: Place) -> ImpairmentConfig {
    ImpairmentConfig { place, ..loss::Params::of(probability).into() }
}

#[test]
fn a_queue_of_any_kind_can_stand_on_a_lossy_link() {
    let scenario = checked("queue = { aqm = \"red\" }\nimpairments = [{ kind = \"loss\", probability = 0.01 }]").unwrap();
    assert_eq!(scenario.links[0].impairments, [loss(0.01, Place::AfterQueue)]);
    assert_eq!(scenario.plan(1).links[0].impairments, [loss(0.01, Place::AfterQueue)]);
}

#[test]
fn the_reverse_link_has_impairments_of_its_own() {
    let there = "duplex = true\nimpairments = [{ kind = \"loss\", probability = 0.5, place = \"before-queue\" }]\n";
    let plain = checked(there).unwrap();
    assert_eq!((plain.links[0].impairments.len(), plain.links[1].impairments.len()), (1, 0));
    let back = checked(&format!("{there}back = {{ impairments = [{{ kind = \"loss\", probability = 1 }}] }}")).unwrap();
    assert_eq!(back.links[0].impairments, [loss(0.5, Place::BeforeQueue)]);
    assert_eq!(back.links[1].impairments, [loss(1.0, Place::AfterQueue)]);
}

#[test]
fn an_error_leads_to_the_parameter() {
    let error = |link: &str| checked(link).unwrap_err();
    let range = error("impairments = [{ kind = \"loss\", probability = 1.5 }]");
    assert!(range.starts_with("x.toml:6:47: links[0].impairments[0].probability:"), "{range}");
    let name = error("impairments = [{ kind = \"los\", probability = 0.5 }]");
    assert!(name.contains("impairments[0].kind") && name.contains("did you mean \"loss\"?"), "{name}");
    let key = error("impairments = [{ kind = \"loss\", probability = 0.5, when = 1 }]");
    assert!(key.contains("probability, per, kind, place"), "{key}");
}
