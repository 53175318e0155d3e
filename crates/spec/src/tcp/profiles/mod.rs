//! The TCP profiles: one file each, and one line each in the registry.
//! A file lists differences from another profile, with sources.

use super::TcpOptions;

/// A profile, as an entry of lists.
#[derive(Clone, Copy, Debug)]
pub struct ProfileEntry {
    /// The name in scenario files.
    pub name: &'static str,
    /// Its summary.
    pub summary: &'static str,
    /// The options of the profile.
    pub options: fn() -> TcpOptions,
    /// The options that it sets, each with its source.
    pub sources: &'static [(&'static str, &'static str)],
}

/// Declares the content of a profile's file: its base profile, and its differences.
/// A difference is a line per option with value and source.
macro_rules! profile {
    (from $base:ident; $($option:ident = $value:expr, $source:literal;)*) => {
        /// The options of the profile.
        pub fn options() -> crate::tcp::TcpOptions {
            crate::tcp::TcpOptions { $($option: $value,)* ..crate::tcp::TcpOptions::$base() }
        }

        /// The options that it sets, each with its source.
        pub const SOURCES: &[(&str, &str)] = &[$((stringify!($option), $source),)*];
    };
}
use profile;

macro_rules! registry {
    ($default_name:literal => $default:ident::$Default:ident: $default_summary:literal, $($name:literal => $file:ident::$Variant:ident: $summary:literal,)*) => {
        $(mod $file;)*

        /// A set of values of all TCP options: the behavior of one stack.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Profile {
            #[doc = $default_summary]
            #[default]
            #[cfg_attr(feature = "serde", serde(rename = $default_name))]
            $Default,
            $(#[doc = $summary] #[cfg_attr(feature = "serde", serde(rename = $name))] $Variant,)*
        }

        /// Every profile, in the order of the registry.
        pub const PROFILES: &[ProfileEntry] = &[
            ProfileEntry { name: $default_name, summary: $default_summary, options: TcpOptions::$default, sources: &[] },
            $(ProfileEntry { name: $name, summary: $summary, options: $file::options, sources: $file::SOURCES },)*
        ];

        impl Profile {
            /// The options of the profile.
            pub fn options(self) -> TcpOptions {
                (PROFILES[self as usize].options)()
            }
        }

        impl TcpOptions {
            #[doc = $default_summary]
            pub fn $default() -> Self {
                TcpOptions::default()
            }
            $(
                #[doc = $summary]
                pub fn $file() -> Self {
                    $file::options()
                }
            )*
        }
    };
}

// The first profile has the defaults of the table of options, and no file.
registry! {
    "rfc" => rfc::Rfc: "the RFCs: 9293, 5681, 6582, 6675, 6298, 3042, 6928, 7323",
    "ns2" => ns2::Ns2: "ns-2.35's one-way agents with its defaults (`tcl/lib/ns-default.tcl`, `tcp/tcp.cc`)",
    "ns2-linux" => ns2_linux::Ns2Linux: "ns-2.35's TCP-Linux agent: SACK, timestamps, the rate halved in recovery",
    "linux" => linux::Linux: "Linux: SACK, timestamps, initial window 10, timeouts of 200 ms or more",
    "freebsd" => freebsd::Freebsd: "FreeBSD 5.3: SACK, initial window 3, timeouts of 30 ms or more with 200 ms added, ACKs delayed by 100 ms",
}
