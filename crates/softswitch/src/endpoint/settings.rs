//! The kernel's settings of one namespace: files under /proc/sys/net, attributes of the device and its route.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::address;
use crate::endpoint::plan::KernelPlan;
use crate::hosts::DEVICE;
use crate::namespace::{Namespace, explained};

/// The folder of the settings.
const FOLDER: &str = "/proc/sys/net/ipv4";

/// The congestion controls that the kernel has loaded.
pub(crate) fn controls() -> io::Result<Vec<String>> {
    let file = format!("{FOLDER}/tcp_available_congestion_control");
    let text = fs::read_to_string(&file).map_err(|error| explained(&file, &error))?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Applies them; returns those that this kernel does not have.
pub(crate) fn apply(
    namespace: &Namespace,
    host: usize,
    plan: &KernelPlan,
    dilation: u64,
) -> io::Result<Vec<String>> {
    namespace.within(|| {
        let mut missing = Vec::new();
        for (name, value) in &plan.settings {
            let file = Path::new(FOLDER).join(name);
            if file.exists() {
                fs::write(&file, value).map_err(|error| explained(name, &error))?;
            } else {
                missing.push(name.clone());
            }
        }
        let segments = plan.gso_max_segs.to_string();
        ip(&["link", "set", DEVICE, "gso_max_segs", &segments])?;
        let (network, own) = (address::network(), address::of(host).to_string());
        let min_rto = plan.min_rto.0.saturating_mul(dilation).as_ps() / 1_000_000_000;
        let (min_rto, window) = (format!("{min_rto}ms"), plan.initial_window.to_string());
        let route = ["route", "replace", &network, "dev", DEVICE, "src", &own];
        let ours = ["rto_min", &min_rto, "initcwnd", &window];
        ip(&[&route[..], &ours].concat())?;
        Ok(missing)
    })
}

fn ip(words: &[&str]) -> io::Result<()> {
    let done = Command::new("ip").args(words).output();
    let done = done.map_err(|error| explained("needs the program ip (iproute2)", &error))?;
    if done.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(format!(
        "ip {}: {}",
        words.join(" "),
        why.trim()
    )))
}
