//! How a scenario reads the files that it names (distributions of flow sizes), and learns of the source
//! of controllers that are not ours.
//!
//! The language itself opens nothing: it asks a [`Files`].

/// Gives the text of a file that a scenario names.
pub trait Files {
    /// The text of `path`, relative to the scenario, or why it cannot be had.
    fn read(&self, path: &str) -> Result<String, String>;

    /// The hash of the source of the controller that a scenario calls `name`; nothing where names
    /// are known to the program that runs it; or what is wrong with it.
    fn controller(&self, _name: &str) -> Result<Option<String>, Mistake> {
        Ok(None)
    }
}

/// What is wrong with something that a scenario names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// What was found.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
}

/// No files at all.
pub(crate) struct NoFiles;

impl Files for NoFiles {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!("{path}: files are not to be had here"))
    }
}
