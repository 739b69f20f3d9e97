//! Access to the files that a scenario names (distributions of flow sizes), and to the sources
//! of user-defined controllers.
//!
//! The language itself opens no files: it calls a [`Files`].

/// Reads the files that a scenario names.
pub trait Files {
    /// The text of `path`, relative to the scenario, or the error.
    fn read(&self, path: &str) -> Result<String, String>;

    /// The source of the controller that a scenario calls `name`; `None` where the running program
    /// resolves names; or the fault in it.
    fn controller(&self, _name: &str) -> Result<Option<ControllerSource>, Mistake> {
        Ok(None)
    }
}

/// The properties of a controller before it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerSource {
    /// The hash of its source.
    pub hash: String,
    /// The names of all its parameters; `None` where they are known only when it is made.
    pub parameters: Option<Vec<String>>,
}

/// The fault of a file or controller that a scenario names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The finding.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
}

/// No files at all.
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!("{path}: files are not to be had here"))
    }
}
