//! Checks of user-defined controllers: whether their names resolve, to the same source as
//! before, and whether they have the given parameters.

use crate::language::custom::Custom;
use crate::language::root::Root;
use crate::text::context::Context;
use crate::text::files::{ControllerSource, Mistake};
use crate::text::suggest::did_you_mean;

/// Resolves the source of each user-defined controller, and writes its hash into the scenario.
pub(crate) fn complete(root: &mut Root, cx: &mut Context<'_>) {
    if let Some(custom) = root.transport.custom_mut() {
        complete_one("transport", custom, cx);
    }
    for (name, group) in &mut root.flows {
        if let Some(custom) = group.transport.custom_mut() {
            complete_one(&format!("flows.{name}.transport"), custom, cx);
        }
    }
}

fn complete_one(path: &str, custom: &mut Custom, cx: &mut Context<'_>) {
    let name = custom.controller.name();
    let ControllerSource { hash, parameters } = match cx.files.controller(name) {
        Ok(Some(source)) => source,
        // The running program resolves it.
        Ok(None) => return,
        Err(Mistake { message, help }) => {
            cx.error_at(&format!("{path}.controller"), message)
                .help_if(help);
            return;
        }
    };
    if let Some(before) = &custom.controller_source
        && *before != hash
    {
        cx.error_at(
            &format!("{path}.controller_source"),
            format!("the source of \"{name}\" has the hash {hash}, not {before}"),
        )
        .help("to run it as it is now, take controller_source out");
    }
    if let Some(taken) = parameters {
        check_parameters(path, custom, &taken, cx);
    }
    custom.controller_source = Some(hash);
}

/// Refuses parameters that the controller does not have.
fn check_parameters(path: &str, custom: &Custom, taken: &[String], cx: &mut Context<'_>) {
    let taken: Vec<&str> = taken.iter().map(String::as_str).collect();
    let controller = custom.controller.name();
    for (name, _) in custom.parameters.entries() {
        if taken.contains(&name) {
            continue;
        }
        let there = match taken[..] {
            [] => "it has none at all".to_owned(),
            _ => format!("it has {}", taken.join(", ")),
        };
        let near = did_you_mean(name, &taken).map(|word| format!("did you mean {word}? "));
        cx.error_at(
            &format!("{path}.parameters.{name}"),
            format!("the controller \"{controller}\" has no parameter {name}"),
        )
        .help(format!("{}{there}", near.unwrap_or_default()));
    }
}
