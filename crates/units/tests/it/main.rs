//! The public interface of the units.

mod serializer;
mod streams;
mod text;
