//! Connections over the loopback interface: what is written arrives, in order and whole, whoever opens,
//! whoever closes. No test asserts a time; each is given up after a minute.

mod connections;
mod dilation;
mod endings;
mod keys;
mod stamps;
mod world;
