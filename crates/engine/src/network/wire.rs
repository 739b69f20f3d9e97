//! A degraded direction of a link: the fates of its packets, and the order of their arrivals, since a packet may
//! overtake those sent before it.
//!
//! Leaves out: the laws of loss and delay, which are in incastle-links, and the order, which is in incastle-slots.

use incastle_links::DegradedLink;

use crate::layout::Order;

/// A degraded direction of a link.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) link: DegradedLink,
    pub(crate) order: Order,
}
