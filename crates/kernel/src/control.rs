//! A congestion control that the kernel takes as eBPF (struct_ops): loaded, registered, and unregistered when dropped.
//!
//! The registration is a BPF link: the kernel ends it when its descriptor closes, so also after SIGKILL. Nothing is
//! pinned. Connections that have the control keep it.

use std::path::Path;

use libbpf_rs::{
    ErrorKind, Link, MapCore as _, MapHandle, Object, ObjectBuilder, OpenObject, set_print,
};
use rustix::process::geteuid;

/// The types of the running kernel.
const BTF: &str = "/sys/kernel/btf/vmlinux";

/// An object file of ours: compiled by build.rs.
#[derive(Debug, Clone, Copy)]
struct ObjectFile<'a>(&'a [u8]);

const DCTCP: ObjectFile<'_> = ObjectFile(include_bytes!(concat!(env!("OUT_DIR"), "/dctcp.bpf.o")));

const BRIDGE: ObjectFile<'_> =
    ObjectFile(include_bytes!(concat!(env!("OUT_DIR"), "/bridge.bpf.o")));

/// Why the kernel does not take a control.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// Rights.
    #[error("registering a congestion control in the kernel needs root (sudo)")]
    NotRoot,
    /// No types.
    #[error(
        "this kernel has no {BTF}: eBPF controls need Linux 6.10 or later with CONFIG_DEBUG_INFO_BTF"
    )]
    NoTypes,
    /// The name is taken.
    #[error(
        "a congestion control {0} is already registered: another process has it; wait for its end"
    )]
    Taken(String),
    /// Anything else.
    #[error(
        "this kernel does not take the congestion control {0} ({1}): eBPF controls need Linux 6.10 \
         or later with CONFIG_BPF_JIT and struct_ops"
    )]
    Refused(String, String),
}

/// A control of ours that the kernel has.
#[derive(Debug)]
pub struct Control {
    name: String,
    // In this order: the link ends before its programs.
    _link: Link,
    object: Object,
}

impl Control {
    /// Registers DCTCP, `incastle_dctcp`.
    pub fn dctcp() -> Result<Self, KernelError> {
        Self::register("incastle_dctcp", DCTCP)
    }

    /// Registers the bridge: `incastle_bridge`, or with ECN `incastle_b_ecn`.
    pub(crate) fn bridge(ecn: bool) -> Result<Self, KernelError> {
        Self::register(bridge_name(ecn), BRIDGE)
    }

    /// A map of its program.
    pub(crate) fn map(&self, name: &str) -> Result<MapHandle, KernelError> {
        let mut maps = self.object.maps();
        let map = maps.find(|map| map.name().to_string_lossy() == name);
        let map = map.expect("the object has this map");
        MapHandle::try_from(&map).map_err(|error| self.refused(&error))
    }

    /// An error of the kernel.
    pub(crate) fn refused(&self, error: &libbpf_rs::Error) -> KernelError {
        KernelError::Refused(self.name.clone(), error.to_string())
    }

    fn register(name: &str, file: ObjectFile<'_>) -> Result<Self, KernelError> {
        set_print(None);
        if !geteuid().is_root() {
            return Err(KernelError::NotRoot);
        }
        if !Path::new(BTF).exists() {
            return Err(KernelError::NoTypes);
        }
        let explained = |error: libbpf_rs::Error| match error.kind() {
            // Root in a container without the capabilities.
            ErrorKind::PermissionDenied => KernelError::NotRoot,
            ErrorKind::AlreadyExists => KernelError::Taken(name.to_owned()),
            _ => KernelError::Refused(name.to_owned(), error.to_string()),
        };
        let opened = ObjectBuilder::default().open_memory(file.0);
        let mut object = opened.and_then(OpenObject::load).map_err(explained)?;
        let link = attach(&mut object, name).map_err(explained)?;
        Ok(Self {
            name: name.to_owned(),
            _link: link,
            object,
        })
    }
}

/// The kernel's name of the bridge.
const fn bridge_name(ecn: bool) -> &'static str {
    if ecn {
        "incastle_b_ecn"
    } else {
        "incastle_bridge"
    }
}

/// Registers the object's control of this name.
fn attach(object: &mut Object, name: &str) -> libbpf_rs::Result<Link> {
    let mut found = object.maps_mut();
    let control = found.find(|map| map.name().to_string_lossy() == name);
    let mut control = control.expect("the object has this control");
    control.attach_struct_ops()
}
