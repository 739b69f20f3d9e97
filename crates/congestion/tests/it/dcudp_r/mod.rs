//! The revised DCUDP: its law number by number, its claims on one link, and any operations.

mod claims;
mod law;
mod sequences;
mod trajectory;
