//! Writes the JavaScript of `incastle-wasm`, with its types: `bindings ENGINE.wasm FOLDER`.
//!
//! wasm-bindgen's own program, as a library: Cargo.lock holds both halves to one version.

use std::error::Error;
use std::path::PathBuf;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [engine, folder] = &paths[..] else {
        return Err("usage: bindings ENGINE.wasm FOLDER".into());
    };
    let mut bindings = Bindgen::new();
    bindings.input_path(engine).web(true)?.typescript(true);
    bindings
        .remove_name_section(true)
        .remove_producers_section(true);
    Ok(bindings.generate(folder)?)
}
