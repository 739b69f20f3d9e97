//! What there is to choose from, each with one line: `incastle list`.

use crate::describe::{Choice, Description, Member};
use crate::language::flows::Group;
use crate::language::network::Network;
use crate::language::switch::Switch;
use crate::language::tcp::Tcp;
use crate::language::transport::Transport;
use crate::sizes;
use crate::table::Table;

/// The lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalog {
    /// `[transport] congestion`.
    pub algorithms: Vec<Item>,
    /// `[switch.queue] kind`.
    pub queues: Vec<Item>,
    /// `[network] topology`.
    pub topologies: Vec<Item>,
    /// `[transport] kind`.
    pub transports: Vec<Item>,
    /// `[flows.NAME] workload`.
    pub workloads: Vec<Item>,
    /// `[flows.NAME] sizes`.
    pub sizes: Vec<Item>,
}

/// One thing to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// As scenarios write it.
    pub name: String,
    /// What it is, in one line.
    pub about: String,
}

/// What there is to choose from.
pub fn catalog() -> Catalog {
    Catalog {
        algorithms: choice_of(&Tcp::description(), "congestion"),
        queues: choice_of(&Switch::description(), "kind"),
        topologies: choice_of(&Network::description(), "topology"),
        transports: choice_of(&Transport::description(), "kind"),
        workloads: choice_of(&Group::description(), "workload"),
        sizes: sizes::named()
            .map(|(name, about)| Item {
                name: name.to_owned(),
                about: about.to_owned(),
            })
            .collect(),
    }
}

fn choice_of(description: &Description, key: &str) -> Vec<Item> {
    let choice = find(description, key).expect("the catalog asks for choices of the language");
    choice
        .alternatives
        .iter()
        .map(|alternative| Item {
            name: alternative.word.to_owned(),
            about: alternative.about.clone(),
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
