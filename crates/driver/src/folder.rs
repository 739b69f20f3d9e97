//! Files in a scenario's folder, from the disk.

use std::path::{Path, PathBuf};

use incastle_scenario::Files;

/// Files relative to the folder of the scenario.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder that holds `scenario`.
    pub fn of(scenario: &str) -> Self {
        Self(
            Path::new(scenario)
                .parent()
                .map(Path::to_path_buf)
                .unwrap_or_default(),
        )
    }
}

impl Files for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        let full = self.0.join(path);
        std::fs::read_to_string(&full).map_err(|error| format!("{}: {error}", full.display()))
    }
}
