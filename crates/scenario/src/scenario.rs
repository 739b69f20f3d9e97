//! A checked scenario, and the stages from its text to it.

use std::sync::{Arc, OnceLock};

use incastle_units::Span;
use toml::de::DeTable;

use crate::check::{check, controllers, is_name, is_name_character, switch_members};
use crate::language::custom::{Controllers, Custom};
use crate::language::grammar::reader::Table;
use crate::language::grammar::reader::read_table;
use crate::language::grammar::writer::Writer;
use crate::language::manual;
use crate::language::root::Root;
use crate::language::switch::Switch;
use crate::load::OfferedLoad;
use crate::text::context::{Context, Origin};
use crate::text::diagnostic::Diagnostic;
use crate::text::files::{Files, NoFiles};
use crate::text::kind;
use crate::text::node::{Content, Entry, Node, Place, entries_from_toml, quoted};
use crate::text::overrides;
use crate::text::repair;
use crate::text::shorthand;
use crate::text::synonyms;
use crate::text::syntax;
use crate::topology::layout::Layout;

/// The first line of a resolved text with presets.
const PRESETS_ARE_WRITTEN_OUT: &str = "# Every key has its value below, also those that a preset sets: another preset alone changes nothing.\n";

/// A scenario that can run.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    root: Root,
    layout: Arc<Layout>,
    offered: Arc<OfferedLoad>,
}

/// Reads a scenario. `file` is its name for messages; `files` reads the files that it names.
/// Returns the scenario with its warnings, or every error and warning in the order of the file.
pub fn parse_with(
    text: &str,
    file: &str,
    overrides: &[(String, String)],
    files: &dyn Files,
) -> Result<(Scenario, Vec<Diagnostic>), Vec<Diagnostic>> {
    let origin = Origin {
        file,
        text,
        overrides,
    };
    let mut cx = Context::new(files);
    cx.tables_with = manual::tables_with;
    match read(&origin, &mut cx) {
        Some(scenario) if !cx.has_errors() => Ok((scenario, cx.into_diagnostics(&origin))),
        _ => Err(cx.into_diagnostics(&origin)),
    }
}

fn read(origin: &Origin<'_>, cx: &mut Context<'_>) -> Option<Scenario> {
    let (document, errors) = DeTable::parse_recoverable(origin.text);
    syntax::report(origin.text, &errors, cx);
    if !errors.is_empty() {
        // A recovered tree would only give errors that follow from the first.
        return None;
    }
    if let (Some(kind), []) = (kind::of_nothing(origin.text), origin.overrides) {
        cx.error(Place::File(0), "", kind.message).help(kind.help);
        return None;
    }
    let mut tree = Node {
        place: Place::File(0),
        content: Content::Table(entries_from_toml(document.get_ref(), &Place::File)),
    };
    overrides::apply(&mut tree, origin.overrides, cx);
    shorthand::expand(&mut tree);
    rename_tables(&mut tree, cx);
    let Some(mut root) = read_root(&tree, cx) else {
        check_the_rest(&tree, cx);
        return None;
    };
    if !cx.is_given("name") {
        root.name = stem(origin.file);
    }
    controllers::complete(&mut root, cx);
    let (is_wrong, known) = (cx.has_errors(), cx.count());
    let checked = check(&root, cx);
    if is_wrong {
        cx.drop_warnings(known);
    }
    let (layout, offered) = checked?;
    Some(Scenario {
        root,
        layout: Arc::new(layout),
        offered: Arc::new(offered),
    })
}

/// Reports tables under other names, and reads them as those that were probably meant. Otherwise these would be missing.
fn rename_tables(tree: &mut Node, cx: &mut Context<'_>) {
    static TABLES: OnceLock<Vec<&'static str>> = OnceLock::new();
    let tables = TABLES.get_or_init(manual::tables);
    let entries = tree.entries_mut().into_iter().flatten();
    let mut free = tables.clone();
    let mut unknown: Vec<&mut Entry> = Vec::new();
    for entry in entries {
        if tables.contains(&entry.key.as_str()) {
            free.retain(|table| *table != entry.key);
        } else if entry.node.entries().is_some() {
            unknown.push(entry);
        }
    }
    for entry in unknown {
        let Some(meant) = synonyms::nearest_key(&entry.key, &free) else {
            continue;
        };
        free.retain(|table| *table != meant);
        cx.error(
            entry.place,
            &entry.key,
            format!("unknown table {}", quoted(&entry.key)),
        )
        .help(format!(
            "did you mean [{meant}]? the tables are {}",
            tables.join(", ")
        ));
        meant.clone_into(&mut entry.key);
    }
}

fn read_root(tree: &Node, cx: &mut Context<'_>) -> Option<Root> {
    let mut tree = tree.clone();
    overrides::inherit(&mut tree);
    let entries = tree.entries().unwrap_or_default();
    read_table(String::new(), Place::File(0), entries, cx)
}

/// Checks the rest of a scenario that cannot be read as a whole.
fn check_the_rest(tree: &Node, cx: &mut Context<'_>) {
    let wrong = cx.error_keys();
    let Some(rest) = repair::without(tree, &wrong) else {
        return;
    };
    let mut inner = Context::new(cx.files);
    inner.removed = wrong;
    if let Some(root) = read_root(&rest, &mut inner) {
        check(&root, &mut inner);
        cx.take_errors(inner);
    }
}

/// The file's name without folders and `.toml`, as far as it can be a name.
fn stem(file: &str) -> String {
    let base = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let base = base.strip_suffix(".toml").unwrap_or(base);
    let name: String = base
        .chars()
        .map(|c| if is_name_character(c) { c } else { '-' })
        .collect();
    if is_name(&name) {
        name
    } else {
        "scenario".to_owned()
    }
}

impl Scenario {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.root.name
    }

    /// Its simulated duration.
    pub fn duration(&self) -> Span {
        self.root.run.duration
    }

    /// Its seed.
    pub fn seed(&self) -> u64 {
        self.root.run.seed
    }

    /// The same scenario with another seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        let mut other = self.clone();
        other.root.run.seed = seed;
        other
    }

    /// The names of its user-defined controllers, each once.
    pub fn custom_controllers(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .customs()
            .map(|custom| custom.controller.name())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The same scenario with makers of such controllers.
    #[must_use]
    pub fn with_controllers(&self, controllers: &Controllers) -> Self {
        let mut other = self.clone();
        for (_, group) in &mut other.root.flows {
            if let Some(custom) = group.transport.custom_mut() {
                custom.controller.bind(controllers);
            }
        }
        other
    }

    /// The first controller without a maker.
    pub fn unknown_controller(&self) -> Option<&str> {
        let mut customs = self.customs();
        let unknown = customs.find(|custom| !custom.controller.is_bound());
        unknown.map(|custom| custom.controller.name())
    }

    fn customs(&self) -> impl Iterator<Item = &Custom> {
        let groups = self.root.flows.iter();
        groups.filter_map(|(_, group)| group.transport.custom())
    }

    /// Every parameter, as TOML that reads back to the same scenario.
    pub fn resolved(&self) -> String {
        let mut writer = Writer::default();
        self.root.write(&mut writer);
        let text = writer.into_text();
        let remark = if text.contains("\npreset = ") {
            PRESETS_ARE_WRITTEN_OUT
        } else {
            ""
        };
        format!("{remark}{text}")
    }

    /// Its tables.
    pub fn tables(&self) -> &Root {
        &self.root
    }

    /// The parameters of each switch.
    pub fn switches(&self) -> Vec<&Switch> {
        let mut switches = vec![&self.root.switch; self.layout.switches.len()];
        let mut quiet = Context::new(&NoFiles);
        for (label, group) in &self.root.switches {
            let members = switch_members(label, group, &self.layout, &mut quiet);
            for member in members.expect("the switches of a checked scenario exist") {
                switches[member] = &group.switch;
            }
        }
        switches
    }

    /// Its hosts, switches and links.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The mean load that its groups offer to links, as far as known before the simulation.
    pub fn offered_load(&self) -> &OfferedLoad {
        &self.offered
    }

    /// The layout, shared.
    pub fn shared_layout(&self) -> &Arc<Layout> {
        &self.layout
    }
}
