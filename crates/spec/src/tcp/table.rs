//! The macro that declares the table of options.

use super::TcpOptions;
use alloc::string::String;

/// An option, as an entry of lists.
#[derive(Clone, Copy, Debug)]
pub struct OptionEntry {
    /// The name in scenario files.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: &'static str,
    /// One sentence that describes it.
    pub sentence: &'static str,
    /// The source of the default in the profile `rfc`.
    pub source: &'static str,
    /// Its value in the notation of scenarios; "none" if absent.
    pub show: fn(&TcpOptions) -> String,
}

/// Generates everything that derives from the table of options.
/// An entry is `name: STORED as WRITTEN, RANGE, "sentence", DEFAULT, "source";`. `WRITTEN` is the type in scenarios, `STORED` the type at
/// endpoints, `RANGE` the check of the written value, and `DEFAULT` the value in the profile `rfc`.
macro_rules! tcp_options {
    ($($name:ident: $stored:ty as $written:ty, $range:expr, $sentence:literal, $default:expr, $source:literal;)*) => {
        /// The options of a TCP endpoint, each with a value. The default is the profile `rfc`.
        #[derive(Clone, PartialEq, Debug)]
        pub struct TcpOptions {
            $(#[doc = $sentence] pub $name: $stored,)*
        }

        impl Default for TcpOptions {
            fn default() -> Self {
                TcpOptions { $($name: $default,)* }
            }
        }

        /// TCP options of a scenario; all are optional.
        /// A flow's own options take precedence over the scenario's, and those over the profile's.
        #[derive(Clone, PartialEq, Debug, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields, default))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct TcpOverrides {
            /// The profile that sets the defaults of all options; default "rfc".
            #[cfg_attr(feature = "serde", serde(skip_serializing_if = "core::option::Option::is_none"))]
            pub profile: Option<Profile>,
            $(
                #[doc = $sentence]
                #[cfg_attr(feature = "serde", serde(skip_serializing_if = "core::option::Option::is_none"))]
                pub $name: Option<$written>,
            )*
        }

        impl TcpOverrides {
            /// These options, completed by those of `common`.
            #[must_use]
            pub fn over(&self, common: &TcpOverrides) -> TcpOverrides {
                TcpOverrides {
                    profile: self.profile.or(common.profile),
                    $($name: self.$name.clone().or_else(|| common.$name.clone()),)*
                }
            }

            /// Whether the option called `name` is set.
            pub fn gives(&self, name: &str) -> bool {
                match name {
                    $(stringify!($name) => self.$name.is_some(),)*
                    _ => false,
                }
            }

            /// Checks that each option that is set is in its range.
            ///
            /// # Errors
            /// The first option out of range.
            pub fn check(&self) -> Result<(), ParamError> {
                $(if let Some(value) = &self.$name {
                    let range: fn(&'static str, &$written) -> Result<(), ParamError> = $range;
                    range(stringify!($name), value)?;
                })*
                Ok(())
            }

            /// Applies the options that are set to `options`.
            fn apply(&self, options: &mut TcpOptions) {
                $(if let Some(value) = &self.$name {
                    options.$name = Stored::<$written>::store(value, options);
                })*
            }
        }

        impl TcpOptions {
            /// All options in the form of scenarios.
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
