//! Controllers that are not ours: whether there is what their names stand for, and the same source as
//! before.

use crate::language::Root;
use crate::language::custom::Custom;
use crate::text::context::Context;
use crate::text::files::Mistake;

/// Asks for the source of each controller of one's own, and writes its hash into the scenario.
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
    let source = match cx.files.controller(name) {
        Ok(Some(source)) => source,
        // Whoever runs the scenario knows it.
        Ok(None) => return,
        Err(Mistake { message, help }) => {
            cx.error_at(&format!("{path}.controller"), message, help);
            return;
        }
    };
    if let Some(before) = &custom.controller_source
        && *before != source
    {
        cx.error_at(
            &format!("{path}.controller_source"),
            format!("the source of \"{name}\" has the hash {source}, not {before}"),
            Some("to run it as it is now, take controller_source out".to_owned()),
        );
    }
    custom.controller_source = Some(source);
}
