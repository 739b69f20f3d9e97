//! The arguments of `connect` and `listen`, and the configuration from them. Absent ones keep the
//! default of `incastle_socket`.

use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use incastle_socket::{ConnectionConfig, Control, EndpointConfig, Key, Rate, SocketKind};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::runtime::seconds;

/// A resolved address: IP address, port, and IPv6's scope or 0.
pub(crate) type Address = (IpAddr, u16, u32);

/// The dictionary of options.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    control: String,
    key: Option<[u8; 32]>,
    #[pyo3(default)]
    kind: Option<String>,
    #[pyo3(default)]
    packet_bytes: Option<f64>,
    #[pyo3(default)]
    capacity_bit_s: Option<f64>,
    #[pyo3(default)]
    rate_limit_bit_s: Option<f64>,
    #[pyo3(default)]
    send_buffer_bytes: Option<f64>,
    #[pyo3(default)]
    receive_buffer_bytes: Option<f64>,
    #[pyo3(default)]
    idle_timeout: Option<f64>,
    #[pyo3(default)]
    linger: Option<f64>,
}

impl Options {
    /// The configuration of a separate endpoint.
    pub(super) fn endpoint(&self) -> EndpointConfig {
        EndpointConfig {
            key: self.key.map(Key::new),
            ..EndpointConfig::default()
        }
    }

    /// The connection's configuration, every parameter checked.
    pub(super) fn connection(self) -> PyResult<ConnectionConfig> {
        let mut config = ConnectionConfig::default();
        let known: Vec<_> = Control::all().map(|it| (it.name(), it)).collect();
        config.control = choice("control", &self.control, &known)?;
        if let Some(kind) = &self.kind {
            let known = [
                ("stream", SocketKind::Stream),
                ("messages", SocketKind::Message),
            ];
            config.kind = choice("kind", kind, &known)?;
        }
        if let Some(bytes) = self.packet_bytes {
            config.packet_size = whole("packet_bytes", bytes)? as u32;
        }
        config.capacity = rate("capacity_bit_s", self.capacity_bit_s)?;
        config.rate_limit = rate("rate_limit_bit_s", self.rate_limit_bit_s)?;
        self.add_buffers(&mut config)?;
        if let Some(value) = self.idle_timeout {
            config.idle_timeout = seconds("idle_timeout", value)?;
        }
        if let Some(value) = self.linger {
            config.linger = seconds("linger", value)?;
        }
        let checked = config.check();
        checked.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(config)
    }

    fn add_buffers(&self, config: &mut ConnectionConfig) -> PyResult<()> {
        if let Some(bytes) = self.send_buffer_bytes {
            config.send_buffer = whole("send_buffer_bytes", bytes)? as usize;
        }
        if config.send_buffer < config.packet_size as usize {
            let message = format!(
                "send_buffer_bytes = {}: it must hold a packet of {} bytes",
                config.send_buffer, config.packet_size
            );
            return Err(PyValueError::new_err(message));
        }
        if let Some(bytes) = self.receive_buffer_bytes {
            config.receive_buffer = Some(whole("receive_buffer_bytes", bytes)? as usize);
        }
        Ok(())
    }
}

/// The address as a socket address.
pub(super) fn socket_address((ip, port, scope): Address) -> SocketAddr {
    match ip {
        IpAddr::V4(ip) => (ip, port).into(),
        IpAddr::V6(ip) => SocketAddrV6::new(ip, port, 0, scope).into(),
    }
}

fn choice<T: Copy>(name: &str, value: &str, known: &[(&str, T)]) -> PyResult<T> {
    let found = known.iter().find(|(word, _)| *word == value);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let values: Vec<_> = known.iter().map(|(word, _)| format!("{word:?}")).collect();
        let values = values.join(" or ");
        PyValueError::new_err(format!("{name} = {value:?}: it must be {values}"))
    })
}

fn rate(name: &str, value: Option<f64>) -> PyResult<Option<Rate>> {
    let bits = value.map(|value| whole(name, value)).transpose()?;
    Ok(bits.map(Rate::from_bits_per_second))
}

/// A positive number, without its fraction. Python writes large ones as 10e9, a float.
fn whole(name: &str, value: f64) -> PyResult<u64> {
    if (1.0..=f64::from(u32::MAX) * 1e3).contains(&value) {
        return Ok(value as u64);
    }
    let message = format!("{name} = {value}: it must be 1 or more, and no more than 4e12");
    Err(PyValueError::new_err(message))
}
