//! Tells the linker that the interpreter which loads the module brings Python's symbols along, so
//! that a plain `cargo build` works wherever a wheel can be built.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
