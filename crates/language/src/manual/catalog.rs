//! The choices, each with one line: `incastle list`.

use incastle_queueing::QcnSampling;

use crate::elsewhere::{
    Elsewhere, RDMA, TOGETHER, TRANSPORTS, VARIANTS, presets as sets_of_defaults,
};
use crate::flows::Group;
use crate::grammar::declare::Words;
use crate::grammar::describe::{Choice, Description, Member};
use crate::grammar::reader::Table;
use crate::network::Network;
use crate::qcn::Variant;
use crate::rdma::Control;
use crate::sizes::named;
use crate::switch::Switch;
use crate::tcp::Tcp;
use crate::transport::Transport;

/// One list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogList {
    /// Its name: "algorithms", "presets", "queues", "sampling", "topologies", "transports",
    /// "workloads", "sizes".
    pub name: &'static str,
    /// The choices.
    pub entries: Vec<CatalogEntry>,
}

/// One choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogEntry {
    /// As scenarios write it.
    pub name: &'static str,
    /// Its meaning, in one line.
    pub description: String,
}

/// All lists of choices.
pub fn catalog() -> Vec<CatalogList> {
    let mut algorithms = choice_of(&Tcp::description(), "congestion");
    algorithms.extend(set_elsewhere());
    let lists = [
        ("algorithms", algorithms),
        ("presets", presets()),
        ("queues", choice_of(&Switch::description(), "kind")),
        ("sampling", sampling_rules()),
        ("topologies", choice_of(&Network::description(), "topology")),
        ("transports", choice_of(&Transport::description(), "kind")),
        ("workloads", choice_of(&Group::description(), "workload")),
        ("sizes", sizes()),
    ];
    lists
        .into_iter()
        .map(|(name, entries)| CatalogList { name, entries })
        .collect()
}

/// Algorithms that other keys than `congestion` set.
fn set_elsewhere() -> Vec<CatalogEntry> {
    let entry = |one: &Elsewhere, about: &str| CatalogEntry {
        name: one.name,
        description: format!("{about}; {}", one.keys),
    };
    let together = TOGETHER.iter().map(|(one, about)| entry(one, about));
    let kinds = choice_of(&Transport::description(), "kind");
    let transports = TRANSPORTS.iter().map(|one| {
        let kind = kinds.iter().find(|kind| kind.name == one.name);
        entry(one, &kind.expect("it is a transport").description)
    });
    let controls = Control::description();
    let controls = choice_of(&controls, "congestion");
    let rdma = RDMA.iter().map(|one| {
        let control = controls.iter().find(|control| control.name == one.name);
        entry(one, &control.expect("it is a control").description)
    });
    let variants = Variant::entries();
    assert_eq!(VARIANTS.len(), variants.len(), "each variant has its name");
    let variants = VARIANTS.iter().zip(&variants);
    let variants = variants.map(|(one, (_, about))| entry(one, about));
    together
        .chain(transports)
        .chain(rdma)
        .chain(variants)
        .collect()
}

/// The sets of defaults of TCP and of RDMA's controls.
fn presets() -> Vec<CatalogEntry> {
    let sets = sets_of_defaults();
    sets.into_iter()
        .flat_map(|(_, names)| names)
        .map(|(name, about)| CatalogEntry {
            name,
            description: format!(
                "{}; [transport] preset = \"{name}\"",
                about.trim_end_matches('.')
            ),
        })
        .collect()
}

/// The sampling of QCN's congestion points.
fn sampling_rules() -> Vec<CatalogEntry> {
    let rules = QcnSampling::entries().into_iter();
    rules
        .map(|(name, about)| CatalogEntry {
            name,
            description: format!("QCN: {about}; [switch.qcn] sampling = \"{name}\""),
        })
        .collect()
}

fn sizes() -> Vec<CatalogEntry> {
    named()
        .map(|(name, about)| CatalogEntry {
            name,
            description: about.to_owned(),
        })
        .collect()
}

fn choice_of(description: &Description, key: &str) -> Vec<CatalogEntry> {
    let choice = find(description, key).expect("the catalog asks for choices of the language");
    choice
        .alternatives
        .iter()
        .map(|alternative| CatalogEntry {
            name: alternative.word,
            description: alternative.about.clone(),
        })
        .collect()
}

fn find<'a>(description: &'a Description, key: &str) -> Option<&'a Choice> {
    description.members.iter().find_map(|member| match member {
        Member::Choice(choice) if choice.key == key => Some(choice),
        Member::Section { table, .. } => find(table, key),
        _ => None,
    })
}
