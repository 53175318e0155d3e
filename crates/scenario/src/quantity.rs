//! Values that differ from flow to flow of a group.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use sojourn_units::range::{HIGHEST_RATE_BPS, LONGEST_TIME, RATE, TIME};
use sojourn_units::{Duration, Rate, Stream};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A quantity that may differ from flow to flow: a time or a rate.
pub trait Quantity: Copy + Ord + fmt::Debug + fmt::Display + Serialize + DeserializeOwned + JsonSchema {
    /// The expectation in messages as a noun phrase.
    const EXPECTED: &'static str;
    /// Whether it may have a lognormal distribution.
    const LOGNORMAL: bool;
    /// The default of `first` in `{ step = ... }`; `None`: it is required.
    const FIRST: Option<Self>;
    /// The largest value allowed.
    const LARGEST: Self;
    /// Its value as a number of its smallest unit.
    fn number(self) -> f64;
    /// The allowed value that is nearest to a number of its smallest unit.
    fn nearest(number: f64) -> Self;
}

impl Quantity for Duration {
    const EXPECTED: &'static str = TIME;
    const LOGNORMAL: bool = true;
    const FIRST: Option<Self> = Some(Duration::ZERO);
    const LARGEST: Self = LONGEST_TIME;

    fn number(self) -> f64 {
        self.as_nanos() as f64
    }

    fn nearest(number: f64) -> Self {
        Duration::from_nanos(libm::round(number.min(LONGEST_TIME.number())) as u64)
    }
}

impl Quantity for Rate {
    const EXPECTED: &'static str = RATE;
    const LOGNORMAL: bool = false;
    const FIRST: Option<Self> = None;
    const LARGEST: Self = match Rate::from_bps(HIGHEST_RATE_BPS) {
        Some(rate) => rate,
        None => unreachable!(),
    };

    fn number(self) -> f64 {
        self.as_bps() as f64
    }

    fn nearest(number: f64) -> Self {
        let bps = libm::round(number.min(HIGHEST_RATE_BPS as f64)) as u64;
        Rate::from_bps(bps.max(1)).unwrap_or(Self::LARGEST)
    }
}

/// A value for each flow of a group.
#[derive(Clone, PartialEq, Debug)]
pub enum Varying<T> {
    /// The same for all flows: `"5 ms"`.
    One(T),
    /// A list that is used in rotation: `["5 ms", "10 ms"]`.
    List(Vec<T>),
    /// A uniform random value per flow: `{ uniform = [low, high] }`.
    Uniform([T; 2]),
    /// Evenly spaced from the first flow to the last: `{ spread = [low, high] }`.
    Spread([T; 2]),
    /// `first + i * step`: `{ step = "10 s", first = "0 s" }`.
    Step {
        /// The difference between consecutive flows.
        step: T,
        /// The value of flow 0.
        first: T,
    },
    /// A lognormal random value per flow: `{ lognormal = { median = "149 ms", sigma = 0.405 } }`.
    Lognormal {
        /// The median of the distribution.
        median: T,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
}

impl<T: Quantity> Varying<T> {
    /// The value of flow `i` of `count`. `stream` is called only for random values.
    pub fn at(&self, i: u32, count: u32, stream: impl FnOnce() -> Stream) -> T {
        match self {
            Varying::One(value) => *value,
            Varying::List(list) => list.get(i as usize % list.len().max(1)).copied().unwrap_or_else(|| T::nearest(0.0)),
            Varying::Uniform([low, high]) => T::nearest(stream().uniform(low.number(), high.number())),
            Varying::Spread([low, _]) if count < 2 => *low,
            Varying::Spread([low, high]) => T::nearest(low.number() + (high.number() - low.number()) * f64::from(i) / f64::from(count - 1)),
            Varying::Step { step, first } => T::nearest(first.number() + step.number() * f64::from(i)),
            Varying::Lognormal { median, sigma } => T::nearest(median.number() * libm::exp(stream().normal(0.0, *sigma))),
        }
    }

    /// The smallest random value; `None` if the value is not random.
    pub(crate) fn drawn_from(&self) -> Option<T> {
        match self {
            Varying::Uniform([low, _]) => Some(*low),
            Varying::Lognormal { .. } => Some(T::nearest(0.0)),
            Varying::One(_) | Varying::List(_) | Varying::Spread(_) | Varying::Step { .. } => None,
        }
    }

    /// The error for a group of `count` flows, if any: part of the field, and message.
    pub(crate) fn problem(&self, count: u32) -> Option<(&'static str, String)> {
        let over = |value: &T| *value > T::LARGEST;
        let too_large = |part, value: &T| over(value).then(|| (part, format!("expected {}, got {value}", T::EXPECTED)));
        let range = |part, [low, high]: &[T; 2]| {
            let order = (low > high).then(|| (part, format!("expected the lower value first, got [{low}, {high}]")));
            order.or_else(|| too_large(part, high))
        };
        match self {
            Varying::One(value) => too_large("", value),
            Varying::List(list) if list.is_empty() => Some(("", "expected at least one value, got an empty list".to_string())),
            Varying::List(list) => list.iter().find_map(|value| too_large("", value)),
            Varying::Uniform(ends) => range(".uniform", ends),
            Varying::Spread(ends) => range(".spread", ends),
            Varying::Step { step, first } => {
                let last = first.number() + step.number() * f64::from(count.saturating_sub(1));
                let late = (last > T::LARGEST.number()).then(|| {
                    (".step", format!("expected a step that keeps the last of {count} flows at or below {}, got {step}", T::LARGEST))
                });
                too_large(".first", first).or(late)
            }
            Varying::Lognormal { sigma, .. } if !(0.0..=10.0).contains(sigma) => {
                Some((".lognormal.sigma", format!("expected a number, 0 to 10, got {sigma}")))
            }
            Varying::Lognormal { median, .. } => too_large(".lognormal.median", median),
        }
    }

    /// The smallest possible value of any flow, in the smallest unit.
    pub(crate) fn least(&self) -> f64 {
        match self {
            Varying::One(value) | Varying::Uniform([value, _]) | Varying::Spread([value, _]) | Varying::Step { first: value, .. } => {
                value.number()
            }
            Varying::List(list) => list.iter().min().map_or(f64::INFINITY, |value| value.number()),
            // The probability of a smaller value is 10^-9.
            Varying::Lognormal { median, sigma } => median.number() * libm::exp(-6.0 * sigma),
        }
    }

    /// The value, if it is the same for all flows.
    pub fn one(&self) -> Option<T> {
        if let Varying::One(value) = self { Some(*value) } else { None }
    }
}

impl<T: Quantity> JsonSchema for Varying<T> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("Varying{}", T::schema_name()))
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        let pair = json!({ "type": "array", "items": one, "minItems": 2, "maxItems": 2 });
        let table = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
        let first: &[&str] = if T::FIRST.is_some() { &["step"] } else { &["step", "first"] };
        let mut forms = vec![
            json!(one),
            json!({ "type": "array", "items": one, "minItems": 1 }),
            table(json!({ "uniform": pair }), &["uniform"]),
            table(json!({ "spread": pair }), &["spread"]),
            table(json!({ "step": one, "first": one }), first),
        ];
        if T::LOGNORMAL {
            let law = table(json!({ "median": one, "sigma": { "type": "number", "minimum": 0, "maximum": 10 } }), &["median", "sigma"]);
            forms.push(table(json!({ "lognormal": law }), &["lognormal"]));
        }
        json_schema!({ "description": "One value, a list used in rotation, or a table that describes how flows differ.", "anyOf": forms })
    }
}

/// The table form of a varying value.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, bound(deserialize = "T: DeserializeOwned"))]
struct Table<T> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uniform: Option<[T; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spread: Option<[T; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<T>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<T>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lognormal: Option<Lognormal<T>>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, bound(deserialize = "T: DeserializeOwned"))]
struct Lognormal<T> {
    median: T,
    sigma: f64,
}

const FORMS: &str = "a single value, a list, or a table with one of uniform, spread, step (and first), lognormal";

impl<T: Quantity> Table<T> {
    fn varying<E: serde::de::Error>(self) -> Result<Varying<T>, E> {
        let kinds = [self.uniform.is_some(), self.spread.is_some(), self.step.is_some(), self.lognormal.is_some()];
        if kinds.iter().filter(|present| **present).count() != 1 || (self.first.is_some() && self.step.is_none()) {
            return Err(E::custom(format!("expected {FORMS}, got another table")));
        }
        match self {
            Table { uniform: Some(ends), .. } => Ok(Varying::Uniform(ends)),
            Table { spread: Some(ends), .. } => Ok(Varying::Spread(ends)),
            Table { step: Some(step), first, .. } => {
                let first = first.or(T::FIRST).ok_or_else(|| E::custom("expected `first` with `step`, got `step` alone"))?;
                Ok(Varying::Step { step, first })
            }
            Table { lognormal: Some(_), .. } if !T::LOGNORMAL => {
                Err(E::custom("expected a time, the only quantity that can be lognormal, got another"))
            }
            Table { lognormal: Some(Lognormal { median, sigma }), .. } => Ok(Varying::Lognormal { median, sigma }),
            _ => Err(E::custom(format!("expected {FORMS}, got another table"))),
        }
    }
}

struct VaryingVisitor<T>(PhantomData<T>);

impl<'de, T: Quantity> Visitor<'de> for VaryingVisitor<T> {
    type Value = Varying<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (or a list or a table of such)", T::EXPECTED)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Varying<T>, E> {
        T::deserialize(serde::de::value::StrDeserializer::<E>::new(text)).map(Varying::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Varying<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element()? {
            list.push(value);
        }
        if list.is_empty() { Err(A::Error::custom("expected at least one value, got an empty list")) } else { Ok(Varying::List(list)) }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Varying<T>, A::Error> {
        Table::<T>::deserialize(MapAccessDeserializer::new(map))?.varying()
    }
}

impl<'de, T: Quantity> Deserialize<'de> for Varying<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VaryingVisitor(PhantomData))
    }
}

impl<T: Quantity> Serialize for Varying<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = Table { uniform: None, spread: None, step: None, first: None, lognormal: None };
        match self {
            Varying::One(value) => return value.serialize(serializer),
            Varying::List(list) => return list.serialize(serializer),
            Varying::Uniform(ends) => table.uniform = Some(*ends),
            Varying::Spread(ends) => table.spread = Some(*ends),
            Varying::Step { step, first } => (table.step, table.first) = (Some(*step), Some(*first)),
            Varying::Lognormal { median, sigma } => table.lognormal = Some(Lognormal { median: *median, sigma: *sigma }),
        }
        table.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> Stream {
        panic!("no draw is needed")
    }

    #[test]
    fn spread_and_step_and_list_give_each_flow_its_own() {
        let ms = Duration::from_millis;
        let spread = Varying::Spread([ms(10), ms(40)]);
        assert_eq!((0..4).map(|i| spread.at(i, 4, none)).collect::<Vec<_>>(), [ms(10), ms(20), ms(30), ms(40)]);
        assert_eq!(spread.at(0, 1, none), ms(10));
        assert_eq!(Varying::Step { step: ms(5), first: ms(1) }.at(3, 4, none), ms(16));
        assert_eq!(Varying::List(vec![ms(1), ms(2)]).at(3, 4, none), ms(2));
    }

    #[test]
    fn drawn_values_stay_where_they_may_be() {
        let ms = Duration::from_millis;
        for i in 0..1000 {
            let stream = || Stream::named(7, &format!("flow/x/{i}/start"));
            let start = Varying::Uniform([ms(10), ms(20)]).at(i, 1000, stream);
            assert!((ms(10)..=ms(20)).contains(&start));
            assert!(Varying::Lognormal { median: LONGEST_TIME, sigma: 10.0 }.at(i, 1000, stream) <= LONGEST_TIME);
        }
    }

    #[test]
    fn half_of_lognormal_values_lie_below_the_median() {
        let law = Varying::Lognormal { median: Duration::from_millis(149), sigma: 0.405 };
        let below = (0..20_000).filter(|&i| law.at(i, 20_000, || Stream::named(1, &i.to_string())) < Duration::from_millis(149)).count();
        // Four standard deviations of a binomial with p = 1/2 are 283.
        assert!((below as i64 - 10_000).abs() < 283, "{below}");
    }
}
