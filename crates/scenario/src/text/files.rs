//! How a scenario reads the files that it names (distributions of flow sizes).
//!
//! The language itself opens nothing: it asks a [`Files`].

/// Gives the text of a file that a scenario names.
pub trait Files {
    /// The text of `path`, relative to the scenario, or why it cannot be had.
    fn read(&self, path: &str) -> Result<String, String>;
}

/// No files at all.
pub(crate) struct NoFiles;

impl Files for NoFiles {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!("{path}: files are not to be had here"))
    }
}
