//! Violations that a pure crate must not contain, one for each rule of `clippy.toml`.
//!
//! `scripts/check_lints.py` runs clippy over this file and requires a complaint on every line that ends
//! in `// refused`, and on no other line. It is compiled by nothing else.

/// Clocks.
pub fn clocks() -> bool {
    let started = std::time::Instant::now(); // refused
    let wall = std::time::SystemTime::now(); // refused
    started.elapsed().is_zero() // refused
        && wall.elapsed().is_ok() // refused
}

/// Threads.
pub fn threads() -> usize {
    let _ = std::thread::spawn(|| ()).join(); // refused
    std::thread::scope(|_| ()); // refused
    let _ = std::thread::Builder::new().spawn(|| ()); // refused
    std::thread::sleep(std::time::Duration::ZERO); // refused
    std::thread::available_parallelism().map_or(1, usize::from) // refused
}

/// Sockets.
pub fn sockets() {
    let _ = std::net::UdpSocket::bind("[::1]:0"); // refused
    let _ = std::net::TcpStream::connect("[::1]:9"); // refused
    let _ = std::net::TcpListener::bind("[::1]:0"); // refused
}

/// The environment and other processes.
pub fn environment() {
    let _ = std::env::var("HOME"); // refused
    let _ = std::env::args(); // refused
    let _ = std::env::current_dir(); // refused
    let _ = std::process::Command::new("true").status(); // refused
}

/// Files.
pub fn files() {
    let _ = std::fs::read("a"); // refused
    let _ = std::fs::write("a", "b"); // refused
    let _ = std::fs::File::open("a"); // refused
    let _ = std::path::Path::new("a").exists(); // refused
}

/// System randomness, and the order of iteration that comes from it.
pub fn randomness() -> usize {
    let table: std::collections::HashMap<u8, u8> = // refused
        Default::default();
    let set: std::collections::HashSet<u8> = // refused
        Default::default();
    let _ = std::hash::RandomState::new(); // refused
    table.len() + set.len()
}

/// The platform's mathematics. The square root is exact everywhere, and allowed.
pub fn mathematics(x: f64, y: f32) -> f64 {
    let logarithms = x.ln() // refused
        + x.log2() // refused
        + x.log10() // refused
        + x.log(3.0) // refused
        + x.ln_1p(); // refused
    let powers = x.exp() // refused
        + x.exp2() // refused
        + x.exp_m1() // refused
        + x.powf(0.5) // refused
        + x.powi(3) // refused
        + x.cbrt() // refused
        + x.hypot(2.0); // refused
    let circles = x.sin() // refused
        + x.cos() // refused
        + x.tan() // refused
        + x.atan2(2.0); // refused
    let single = y.ln() // refused
        + y.exp() // refused
        + y.powf(2.0) // refused
        + y.sin(); // refused
    logarithms + powers + circles + f64::from(single) + x.sqrt()
}
