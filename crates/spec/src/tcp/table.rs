//! The macro that reads the table of options.

use super::TcpOptions;
use alloc::string::String;

/// One option, as it is listed.
#[derive(Clone, Copy, Debug)]
pub struct OptionEntry {
    /// Its name in scenario files.
    pub name: &'static str,
    /// What kind of value it has.
    pub kind: &'static str,
    /// One sentence on what it does.
    pub sentence: &'static str,
    /// Where the default of the `rfc` profile comes from.
    pub source: &'static str,
    /// Its value as a scenario writes it; "none" if it is absent.
    pub show: fn(&TcpOptions) -> String,
}

/// Makes everything that follows from the table of options. An entry is
/// `name: STORED as WRITTEN, RANGE, "sentence", DEFAULT, "source";` where a scenario gives a `WRITTEN`, the endpoint reads a
/// `STORED`, `RANGE` checks what is written, and `DEFAULT` is the value in the `rfc` profile.
macro_rules! tcp_options {
    ($($name:ident: $stored:ty as $written:ty, $range:expr, $sentence:literal, $default:expr, $source:literal;)*) => {
        /// The options of a TCP endpoint, every one with a value. The default is the `rfc` profile.
        #[derive(Clone, PartialEq, Debug)]
        pub struct TcpOptions {
            $(#[doc = $sentence] pub $name: $stored,)*
        }

        impl Default for TcpOptions {
            fn default() -> Self {
                TcpOptions { $($name: $default,)* }
            }
        }

        /// TCP options as a scenario gives them. Every one may be absent: a flow's own come first, then the scenario's, then
        /// those of the profile.
        #[derive(Clone, PartialEq, Debug, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields, default))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct TcpOverrides {
            /// The set of values that absent options take; default "rfc".
            #[cfg_attr(feature = "serde", serde(skip_serializing_if = "core::option::Option::is_none"))]
            pub profile: Option<Profile>,
            $(
                #[doc = $sentence]
                #[cfg_attr(feature = "serde", serde(skip_serializing_if = "core::option::Option::is_none"))]
                pub $name: Option<$written>,
            )*
        }

        impl TcpOverrides {
            /// These options, and where they are absent those of `common`.
            #[must_use]
            pub fn over(&self, common: &TcpOverrides) -> TcpOverrides {
                TcpOverrides {
                    profile: self.profile.or(common.profile),
                    $($name: self.$name.clone().or_else(|| common.$name.clone()),)*
                }
            }

            /// Whether the option called `name` is given.
            pub fn gives(&self, name: &str) -> bool {
                match name {
                    $(stringify!($name) => self.$name.is_some(),)*
                    _ => false,
                }
            }

            /// Whether each option that is given is in its range.
            ///
            /// # Errors
            /// The first that is not.
            pub fn check(&self) -> Result<(), ParamError> {
                $(if let Some(value) = &self.$name {
                    let range: fn(&'static str, &$written) -> Result<(), ParamError> = $range;
                    range(stringify!($name), value)?;
                })*
                Ok(())
            }

            /// Sets in `options` what is given here.
            fn apply(&self, options: &mut TcpOptions) {
                $(if let Some(value) = &self.$name {
                    options.$name = Stored::<$written>::store(value, options);
                })*
            }
        }

        impl TcpOptions {
            /// The options as a scenario would give them, every one of them.
            pub fn written(&self) -> TcpOverrides {
                TcpOverrides { profile: None, $($name: Stored::<$written>::written(&self.$name),)* }
            }
        }

        /// Every option, in the order of the table.
        pub const OPTIONS: &[OptionEntry] = &[
            $(OptionEntry {
                name: stringify!($name),
                kind: <$written as Kind>::KIND,
                sentence: $sentence,
                source: $source,
                show: |options| {
                    Stored::<$written>::written(&options.$name).map_or_else(|| "none".to_string(), |value| value.to_string())
                },
            },)*
        ];
    };
}
pub(super) use tcp_options;
