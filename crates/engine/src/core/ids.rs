//! Typed indices of applications and event counts; those of networks are in incastle-routing.

use incastle_routing::index;

index!(AppIndex, "an application");
index!(EventCountIndex, "an event count");
