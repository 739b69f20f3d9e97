//! Other names of keys and choices: usual ones, and those of earlier versions.
//! They are not accepted; a message has the valid name. Leaves out: misspellings (`suggest`).

/// Other names of keys, with the valid ones; of several the first that is valid in the table.
const KEYS: &[(&str, &[&str])] = &[
    ("unit", &["sru", "response_size"]),
    ("total", &["total_size"]),
    ("think", &["think_time"]),
    ("gaps", &["interarrival_distribution"]),
    ("arrivals", &["flow_rate", "incast_rate", "datagram_rate"]),
    ("stagger", &["request_jitter"]),
    ("min", &["min_th"]),
    ("max", &["max_th"]),
    ("weight", &["w_q"]),
    ("mean_packet", &["mean_packet_size"]),
    ("mark_above", &["marking_threshold"]),
    ("start", &["k1"]),
    ("stop", &["k2"]),
    ("non_ect", &["not_ect"]),
    ("burst", &["tso_burst"]),
    ("coalescing", &["interrupt_coalescing"]),
    ("jitter_on", &["jitter_applies_to"]),
    ("ack_every", &["delayed_ack_count"]),
    ("ack_delay", &["delayed_ack_timeout"]),
    ("rto_tick", &["rto_granularity"]),
    ("desynchronised_rto", &["randomized_rto"]),
    ("slow_start_limit", &["abc_limit"]),
    ("idle_restart", &["slow_start_after_idle"]),
    ("q_eq", &["cp_q_eq"]),
    ("w", &["cp_w"]),
    ("base", &["cp_sample_base"]),
    ("timer", &["rpg_time_reset"]),
    ("byte_counter", &["rpg_byte_reset"]),
    ("fast_recovery_cycles", &["rpg_threshold"]),
    ("increase", &["rpg_ai_rate"]),
    ("hyper_increase", &["rpg_hai_rate"]),
    ("gain", &["rpg_gd"]),
    ("minimum_decrease", &["rpg_min_dec_fac"]),
    ("minimum_rate", &["rpg_min_rate"]),
    ("law", &["readings.control_law"]),
    ("growth", &["readings.growth"]),
    ("floor", &["readings.floor"]),
    ("entry", &["readings.entry"]),
    ("exit", &["readings.exit"]),
    ("backlog", &["readings.backlog"]),
    ("reaction", &["readings.reaction"]),
    ("extremes", &["readings.extremes"]),
    ("reading", &["readings.thresholds"]),
    ("from", &["warmup"]),
    ("to", &["until"]),
    ("answers", &["responses"]),
    ("memory", &["buffer_occupancy"]),
    ("most", &["max_events"]),
    ("snap", &["snaplen"]),
    ("idle", &["receiver_idle"]),
    ("convergence", &["reconvergence_delay"]),
    ("class", &["traffic_class"]),
    ("per", &["classify_by"]),
];

/// The valid key for the other name `found`, if there is one in `valid`.
pub(crate) fn valid_key(found: &str, valid: &[&str]) -> Option<&'static str> {
    let (_, names) = KEYS.iter().find(|(known, _)| *known == found)?;
    let table = |name: &str| {
        name.split('.')
            .next()
            .expect("a split has a first part")
            .to_owned()
    };
    let is_valid = |name: &&&'static str| valid.contains(&table(name).as_str());
    names.iter().find(is_valid).copied()
}

/// The remedy for another name of a workload.
pub(crate) fn workload(word: &str) -> Option<String> {
    let instead = match word {
        "incast" => {
            "\"barrier-incast\" (a client waits for all responses, and requests again) or \
             \"random-incast\" (at random instants)"
        }
        "barrier" => "\"barrier-incast\"",
        "list" => "\"flow-list\"",
        _ => return None,
    };
    Some(instead.to_owned())
}

/// The remedy for another name of a transport.
pub(crate) fn transport(word: &str) -> Option<String> {
    (word == "datagram").then(|| "\"udp\"".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_the_table_is_named() {
        let query = ["request", "response_size", "total_size"];
        assert_eq!(valid_key("unit", &query), Some("response_size"));
        assert_eq!(valid_key("unit", &["sru"]), Some("sru"));
        assert_eq!(valid_key("unit", &["sizes"]), None);
        assert_eq!(
            valid_key("law", &["readings"]),
            Some("readings.control_law")
        );
        assert_eq!(valid_key("size", &["size"]), None);
    }
}
