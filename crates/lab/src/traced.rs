//! Traces of some flows or links of a plan.

use sojourn_units::Memory;

/// Traces by the number of a flow or link in the plan, with fast look-up.
#[derive(Clone, Debug)]
pub struct Traced<T>(Vec<Option<Box<T>>>);

impl<T> Default for Traced<T> {
    fn default() -> Self {
        Traced(Vec::new())
    }
}

impl<T> Traced<T> {
    /// Whether nothing is traced.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The trace of this number; `None` if it is not traced.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.0.get_mut(number as usize)?.as_deref_mut()
    }

    /// Takes each trace of `other` that is empty here.
    pub fn absorb(&mut self, other: Traced<T>, is_empty: impl Fn(&T) -> bool) {
        for (here, there) in self.0.iter_mut().zip(other.0) {
            if here.as_ref().is_some_and(|here| is_empty(here)) {
                *here = there;
            }
        }
    }

    /// All traces with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.0).filter_map(|(number, traced)| Some((number, traced.as_deref()?)))
    }

    /// All traces.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.iter().map(|(_, traced)| traced)
    }

    /// All traces, mutable.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().flatten().map(|traced| &mut **traced)
    }
}

impl<T: Default> FromIterator<u32> for Traced<T> {
    /// Empty traces for these numbers.
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut traced = Vec::new();
        for number in numbers.into_iter().map(|number| number as usize) {
            if traced.len() <= number {
                traced.resize_with(number + 1, || None);
            }
            traced[number] = Some(Box::default());
        }
        Traced(traced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_traced_is_found_by_its_number_and_comes_in_the_order_of_numbers() {
        let mut traced: Traced<Vec<u32>> = [4, 1, 2].into_iter().collect();
        for number in 0..6 {
            let found = traced.get_mut(number);
            assert_eq!(found.is_some(), [1, 2, 4].contains(&number), "{number}");
            if let Some(list) = found {
                list.push(number);
            }
        }
        traced.values_mut().for_each(|list| list.push(9));
        assert_eq!(traced.iter().map(|(number, list)| (number, list.clone())).collect::<Vec<_>>(), [1, 2, 4].map(|n| (n, vec![n, 9])));
        assert_eq!(traced.values().count(), 3);
        assert!(!traced.is_empty() && Traced::<u32>::from_iter([]).is_empty());
    }
}

impl<T: Memory> Memory for Traced<T> {
    fn memory(&self) -> usize {
        self.values().map(Memory::memory).sum()
    }
}
