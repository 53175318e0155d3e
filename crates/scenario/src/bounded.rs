//! Files that are read up to a bound. A device never ends, and a file may grow while it is read.

use crate::error::Error;
use sha2::{Digest, Sha256};
use std::fmt::{Display, Write};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A file of at most so many bytes, and the digest of those that were read.
#[derive(Debug)]
pub struct Bounded {
    file: File,
    most: u64,
    read: u64,
    digest: Sha256,
}

impl Bounded {
    /// Opens a file of at most `most` bytes; `what` it should be stands in messages.
    ///
    /// # Errors
    /// What cannot be opened, is no file, or is larger. The error names the file.
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
        // A pipe must not be opened: that waits for its other end.
        checked(std::fs::metadata(path).map_err(|error| refused(&said(&error)))?)?;
        let file = File::open(path).map_err(|error| refused(&said(&error)))?;
        checked(file.metadata().map_err(|error| refused(&said(&error)))?)?;
        Ok(Bounded { file, most, read: 0, digest: Sha256::new() })
    }

    /// Reads the file to its end: the SHA-256 of all that was read of it.
    ///
    /// # Errors
    /// A file that cannot be read, or that is larger meanwhile.
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

/// What the system says of a failure, without the number that it has there.
pub(crate) fn said(error: &io::Error) -> String {
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
