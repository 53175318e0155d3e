//! Groups of flows, by which classes and CAKE identify packets.

use alloc::format;
use alloc::string::String;

/// Checks the numbers of groups.
/// Tables grow with the largest number, so each must be below `flows`, the number of flows.
///
/// # Errors
/// The first group that is too large, as text.
pub(crate) fn check_groups(groups: impl IntoIterator<Item = u32>, flows: usize) -> Result<(), String> {
    let wrong = groups.into_iter().find(|&group| group as usize >= flows);
    wrong.map_or(Ok(()), |group| Err(format!("expected a number below {flows}, the number of flows, got {group}")))
}
