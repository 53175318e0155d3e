//! Checks media: names, parameters, and that links use them.

use super::name;
use crate::error::{Error, unknown};
use crate::path::element;
use sojourn_spec::link::Link;
use sojourn_spec::medium::Medium;
use sojourn_units::Rate;
use std::sync::Arc;

/// The media of a scenario.
pub(super) struct Media(Vec<Arc<Medium>>);

/// Checks the parameters of all media.
pub(super) fn check(media: &[Medium]) -> Result<Media, Error> {
    for (i, medium) in media.iter().enumerate() {
        name(format!("media[{i}].name"), "medium", &medium.name)?;
        if media[..i].iter().any(|other| other.name == medium.name) {
            return Err(Error::got(format!("media[{i}].name"), format!("\"{}\"", medium.name), "a name that no other medium has"));
        }
        medium.check().map_err(|error| Error::parameter(&format!("media.{}", element(&medium.name)), error))?;
    }
    Ok(Media(media.iter().cloned().map(Arc::new).collect()))
}

impl Media {
    /// The medium of a link with this rate; `field` is the link's.
    pub fn of(&self, given: Option<&str>, field: &str, rate: Option<Rate>) -> Result<Option<Arc<Medium>>, Error> {
        let (Some(given), field) = (given, format!("{field}.medium")) else { return Ok(None) };
        let Some(medium) = self.0.iter().find(|medium| medium.name == given) else {
            let names: Vec<&str> = self.0.iter().map(|medium| medium.name.as_str()).collect();
            if names.is_empty() {
                return Err(Error::got(field, format_args!("\"{given}\" without any"), "the name of a table [[media]]"));
            }
            return Err(Error::new(field, unknown("medium ", given, &names)));
        };
        if rate.is_none() {
            return Err(Error::got(field, "a medium of a link without rate, where nothing waits", "a rate with it"));
        }
        Ok(Some(medium.clone()))
    }

    /// Rejects a medium that no link uses.
    pub fn check_use(&self, links: &[Link]) -> Result<(), Error> {
        let used = |medium: &&Arc<Medium>| links.iter().any(|link| link.medium.as_ref() == Some(*medium));
        self.0.iter().find(|medium| !used(medium)).map_or(Ok(()), |medium| {
            let expected = format!("a link with medium = \"{}\"", medium.name);
            Err(Error::got(format!("media.{}", element(&medium.name)), "none", expected))
        })
    }
}
