//! How a scenario reads the files that it names (distributions of flow sizes), and learns of the source
//! of controllers that are not ours.
//!
//! The language itself opens nothing: it asks a [`Files`].

/// Gives the text of a file that a scenario names.
pub trait Files {
    /// The text of `path`, relative to the scenario, or why it cannot be had.
    fn read(&self, path: &str) -> Result<String, String>;

    /// The source of the controller that a scenario calls `name`; nothing where names are known to
    /// the program that runs it; or what is wrong with it.
    fn controller(&self, _name: &str) -> Result<Option<ControllerSource>, Mistake> {
        Ok(None)
    }
}

/// What is known of a controller before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerSource {
    /// The hash of its source.
    pub hash: String,
    /// The names of all parameters that it takes; nothing where that shows only when it is made.
    pub parameters: Option<Vec<String>>,
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
