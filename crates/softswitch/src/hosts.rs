//! The hosts of a network: namespaces with a TUN device each.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::address;
use crate::namespace::{Namespace, explained};
use crate::plan::NetworkPlan;
use crate::tun::Tun;

/// The name of each host's device.
pub(crate) const DEVICE: &str = "tun0";

/// The hosts: a namespace and a device each.
pub(crate) struct Hosts {
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) devices: Vec<Tun>,
}

impl Hosts {
    /// Makes them. The plan must have passed its check.
    pub(crate) fn make(plan: &NetworkPlan) -> io::Result<Self> {
        let mtu = u16::try_from(plan.mtu.0.count()).expect("a checked plan");
        let (mut namespaces, mut devices) = (Vec::new(), Vec::new());
        for host in 0..plan.hosts.len() {
            let namespace = Namespace::new()?;
            namespace.within(prepare)?;
            devices.push(Tun::make(&namespace, DEVICE, address::of(host), mtu)?);
            namespaces.push(namespace);
        }
        Ok(Self {
            namespaces,
            devices,
        })
    }

    /// For each host its address, and where its namespace is.
    pub(crate) fn places(&self, plan: &NetworkPlan) -> BTreeMap<String, serde_json::Value> {
        let hosts = plan.hosts.iter().zip(&self.namespaces).enumerate();
        hosts
            .map(|(number, (name, namespace))| {
                let place = json!({"address": address::of(number), "namespace": namespace.path()});
                (name.clone(), place)
            })
            .collect()
    }
}

/// In a new namespace: the loopback, and no chatter of IPv6's own.
fn prepare() -> io::Result<()> {
    for which in ["all", "default"] {
        let quiet = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
        // A kernel without IPv6 has no such file.
        if Path::new(&quiet).exists() {
            fs::write(&quiet, "1").map_err(|error| explained(&quiet, &error))?;
        }
    }
    let up = ["link", "set", "lo", "up"];
    let status = Command::new("ip").args(up).status();
    match status.map_err(|error| explained("needs the program ip (iproute2)", &error))? {
        done if done.success() => Ok(()),
        _ => Err(io::Error::other("ip could not set the loopback up")),
    }
}
