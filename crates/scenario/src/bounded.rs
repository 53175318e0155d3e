//! Reads files up to a size limit.
//! A device never ends, and a file may grow while it is read.

use crate::error::Error;
use sha2::{Digest, Sha256};
use std::fmt::{Display, Write};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A file with a size limit, and the digest of the bytes read so far.
#[derive(Debug)]
pub struct Bounded {
    file: File,
    most: u64,
    read: u64,
    digest: Sha256,
}

impl Bounded {
    /// Opens a file of at most `most` bytes; messages call it `what`.
    ///
    /// # Errors
    /// The file cannot be opened, is not a regular file, or is too large. The error names it.
    pub fn open(path: &Path, most: u64, what: &str) -> Result<Bounded, Error> {
        let named = |error: Error| error.in_file(&path.display().to_string());
        let refused = |got: &dyn Display| named(Error::got("", got, what));
        let checked = |about: std::fs::Metadata| match about.len() {
            _ if !about.is_file() => Err(refused(&"something that is no file")),
            length if length > most => {
                Err(named(Error::got("", format_args!("{length} bytes"), format_args!("{what} of at most {most} bytes"))))
            }
            _ => Ok(()),
        };
        // Check first, because opening a pipe would block until its other end is opened.
        checked(std::fs::metadata(path).map_err(|error| refused(&os_message(&error)))?)?;
        let file = File::open(path).map_err(|error| refused(&os_message(&error)))?;
        checked(file.metadata().map_err(|error| refused(&os_message(&error)))?)?;
        Ok(Bounded { file, most, read: 0, digest: Sha256::new() })
    }

    /// Reads the file to its end and returns the SHA-256 of its content.
    ///
    /// # Errors
    /// The file cannot be read, or has grown beyond the limit.
    pub fn digest(mut self) -> io::Result<[u8; 32]> {
        let mut rest = vec![0; 1 << 16];
        while self.read(&mut rest)? > 0 {}
        Ok(self.digest.finalize().into())
    }
}

impl Read for Bounded {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(bytes)?;
        self.read += count as u64;
        if self.read > self.most {
            return Err(io::Error::other(format!("more than {} bytes", self.most)));
        }
        self.digest.update(&bytes[..count]);
        Ok(count)
    }
}

/// The operating system's message of a failure, without the error number.
pub(crate) fn os_message(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// A digest in hexadecimal.
pub(crate) fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().fold(String::with_capacity(2 * digest.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
