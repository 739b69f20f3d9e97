//! Lets the linker leave Python's symbols undefined: the interpreter that loads the module has them. A plain
//! `cargo build` then works wherever a wheel can be built.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
