//! Rewrites the key tables of docs/scenario-reference.md, between their two marks. Run it after a
//! change of the language: `cargo run -p incastle-scenario --example reference`.
#![allow(clippy::disallowed_methods, reason = "a tool that writes a file")]

const DOC: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/scenario-reference.md"
);
const BEGIN: &str = "<!-- keys: begin -->\n";
const END: &str = "<!-- keys: end -->\n";

fn main() -> std::io::Result<()> {
    let old = std::fs::read_to_string(DOC)?;
    let begin = old.find(BEGIN).expect("the document has the first mark") + BEGIN.len();
    let end = old.find(END).expect("the document has the second mark");
    let keys = incastle_scenario::reference();
    std::fs::write(DOC, format!("{}\n{keys}{}", &old[..begin], &old[end..]))
}
