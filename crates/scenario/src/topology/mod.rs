//! Hosts, switches and links by name and by position, and which hosts talk with which.

pub(crate) mod layout;
pub(crate) mod pairs;
pub(crate) mod paths;
pub(crate) mod routes;
