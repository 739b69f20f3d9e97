//! The offered load of links, against arithmetic by hand and against long runs far from overload.

use incastle_scenario::{Diagnostic, OfferedLoad, TierLoad};

use crate::common::{STAR, assert_near, leaf_spine, parse, scenario};

/// What a packet of 1460 B of TCP is on the wire, over what the application gave.
const FULL: f64 = 1500.0 / 1460.0;

fn fat_tree() -> String {
    "[run]\nduration = \"10 ms\"\n[network]\ntopology = \"fat-tree\"\nk = 4\nrate = \"10 Gbit/s\"\n"
        .to_owned()
}

/// Flows of one full packet between any hosts.
fn everyone(how_much: &str) -> String {
    format!(
        "[flows.all]\nworkload = \"poisson\"\nfrom = \"all\"\nto = \"all\"\nsizes = \"1460 B\"\n\
         {how_much}\n"
    )
}

fn load(text: &str) -> OfferedLoad {
    scenario(text, &[]).offered_load().clone()
}

/// The warnings, where min_rto is meant.
fn warnings(text: &str) -> Vec<Diagnostic> {
    let min_rto = ("transport.min_rto".to_owned(), "200 ms".to_owned());
    let read = parse(text, "test.toml", &[min_rto]);
    read.expect("a right scenario").1
}

fn error(text: &str) -> String {
    let found = parse(text, "test.toml", &[]).expect_err("a broken scenario");
    let all: Vec<String> = found.iter().map(ToString::to_string).collect();
    all.join("\n")
}

#[track_caller]
fn row<'a>(load: &'a [TierLoad], tier: &str, direction: &str) -> &'a TierLoad {
    load.iter()
        .find(|row| row.tier == tier && row.direction == direction)
        .unwrap_or_else(|| panic!("no row {tier} {direction} in {load:#?}"))
}

#[track_caller]
fn assert_row(load: &OfferedLoad, (tier, direction): (&str, &str), application: f64, max: f64) {
    let row = row(&load.together, tier, direction);
    assert_near(row.application, application, 1e-9);
    assert_near(row.max, max, 1e-9);
}

/// 12 hosts of 10 Gbit/s over 4 uplinks of 10 Gbit/s: 3 to 1. Of 47 other hosts 36 are in other racks, so that a
/// leaf sends 12 x 0.5 x 36 / 47 = 4.596 links of traffic over 4: 114.9 % of application data.
#[test]
fn half_a_load_is_too_much_for_three_to_one() {
    let text = leaf_spine(4, 4, 12) + &everyone("load = 0.5");
    let share = 36.0 / 47.0;
    let offered = load(&text);
    assert_row(&offered, ("hosts", "both"), 0.5, 0.5 * FULL);
    assert_row(
        &offered,
        ("uplinks", "both"),
        1.5 * share,
        1.5 * share * FULL,
    );
    let uplinks = row(&offered.together, "uplinks", "both");
    assert_eq!((uplinks.links, uplinks.of), (16, 16));
    assert_eq!(uplinks.max_link, "leaf:0->spine:0");
    let [warning] = &warnings(&text)[..] else {
        panic!("one warning");
    };
    assert_eq!(warning.key, "flows.all.load");
    let line = text.lines().nth(warning.line as usize - 1);
    assert_eq!(line, Some("load = 0.5"));
    // 1.148936 x 1500 / 1460 = 1.180414; 0.5 / 1.180414 = 0.42358.
    assert_eq!(
        warning.to_string(),
        format!(
            "test.toml:{}:8: warning: this group offers 118.0 % of what \"leaf:0->spine:0\" carries, \
             headers included (118.0 % of the uplinks on average): ever more data wait\n  \
             load = 0.423 makes it 100 %; load_of = \"uplinks\" makes `load` a fraction of them",
            warning.line
        )
    );
    let less = leaf_spine(4, 4, 12) + &everyone("load = 0.423");
    assert_eq!(warnings(&less), []);
}

/// Of 15 other hosts of a fat tree of k = 4, 14 are at other edge switches and 12 in other pods; links upwards
/// are as many as hosts.
#[test]
fn the_tiers_of_a_fat_tree_carry_less_and_less() {
    let offered = load(&(fat_tree() + &everyone("load = 0.6")));
    for (tier, share) in [
        ("hosts", 1.0),
        ("uplinks", 14.0 / 15.0),
        ("core", 12.0 / 15.0),
    ] {
        assert_row(&offered, (tier, "both"), 0.6 * share, 0.6 * share * FULL);
        assert_eq!(row(&offered.together, tier, "both").links, 16);
    }
}

/// Of one pod to another: all 4 hosts' data pass 4 links to the core.
#[test]
fn only_links_that_are_crossed_count() {
    let flows = everyone("load = 0.2");
    let flows = flows
        .replace("from = \"all\"", "from = \"host:0..3\"")
        .replace("to = \"all\"", "to = \"host:4\"");
    let offered = load(&(fat_tree() + &flows));
    assert_row(&offered, ("hosts", "up"), 0.05, 0.05 * FULL);
    assert_row(&offered, ("hosts", "down"), 0.2, 0.2 * FULL);
    assert_row(&offered, ("uplinks", "up"), 0.05, 0.05 * FULL);
    // Two aggregation switches of the other pod lead to the edge of host 4, two cores to each of them.
    assert_row(&offered, ("uplinks", "down"), 0.1, 0.1 * FULL);
    assert_row(&offered, ("core", "both"), 0.05, 0.05 * FULL);
    let down = row(&offered.together, "uplinks", "down");
    assert_eq!((down.links, down.of), (2, 16));
}

/// A star of 1 Gbit/s, 125 MB/s.
#[test]
fn each_workload_offers_what_it_is_asked_for() {
    let star = |workload: &str, more: &str| {
        let text = format!(
            "{STAR}[flows.one]\nworkload = \"{workload}\"\nfrom = \"senders\"\nto = \"receiver\"\n{more}\n"
        );
        let found = load(&text);
        let down = row(&found.together, "hosts", "down").clone();
        let up = row(&found.together, "hosts", "up").clone();
        assert_eq!((up.links, down.links), (4, 1));
        assert_near(up.wire * 4.0, down.wire, 1e-9);
        (down.application, down.max)
    };
    let near = |(application, wire), (expected, on_wire)| {
        assert_near(application, expected, 1e-9);
        assert_near(wire, on_wire, 1e-9);
    };
    // 4 flows of 100 Mbit/s in full packets; in messages of 500 B with headers of 40 B.
    near(star("cbr", "rate = \"100 Mbit/s\""), (0.4, 0.4 * FULL));
    let messages = "rate = \"100 Mbit/s\"\nmessage = \"500 B\"";
    near(star("cbr", messages), (0.4, 0.4 * 540.0 / 500.0));
    // A message of 1250 B each 100 us: in 250 us three, in 1 ms 3750 B, 30 Mbit/s of each.
    let on_off = "rate = \"100 Mbit/s\"\nmessage = \"1250 B\"\non = \"250 us\"\noff = \"750 us\"";
    near(star("on-off", on_off), (0.12, 0.12 * 1290.0 / 1250.0));
    // Drawn periods of a mean of 1 ms: 1 / (1 - exp(-0.1)) = 10.508 messages, in 2 ms 13.135 kB.
    let drawn = "rate = \"100 Mbit/s\"\nmessage = \"1250 B\"\non = \"1 ms\"\noff = \"1 ms\"\n\
                 periods = \"exponential\"";
    assert_near(
        star("on-off", drawn).0,
        4.0 * 10.508 * 1250.0 / 2e-3 / 125e6,
        1e-5,
    );
    // 1000 of 25 kB: 17 packets of 1460 B and a rest, 18 headers.
    let poisson = "sizes = \"25 KB\"\nflow_rate = 1000";
    near(star("poisson", poisson), (0.2, 0.2 * 25_720.0 / 25_000.0));
    // Twice in a second 3 hosts send a third of 1 MB: 333,334 and twice 333,333 B, 229 packets each.
    let incast = "count = 3\ntotal_size = \"1 MB\"\nincast_rate = 2";
    near(
        star("random-incast", incast),
        (0.016, 0.016 * (1e6 + 3.0 * 229.0 * 40.0) / 1e6),
    );
    near(
        star("random-incast", "sru = \"1460 B\"\nload = 0.3"),
        (0.3, 0.3 * FULL),
    );
    // Of datagrams `load` counts headers: 1472 B of 1500.
    let datagrams = "load = 0.6\ntransport = { kind = \"udp\" }";
    near(
        star("poisson-datagrams", datagrams),
        (0.6 * 1472.0 / 1500.0, 0.6),
    );
}

#[test]
fn queries_offer_answers_and_requests() {
    let flows = "[flows.ask]\nworkload = \"query\"\nfrom = \"senders\"\nto = \"receiver\"\nrate = 1000\n\
                 response_size = \"2 KB\"\nrequest = \"100 B\"\n";
    let offered = load(&format!("{STAR}{flows}"));
    // 4 responses of 2000 B in two packets, and 4 requests of 100 B: 8 MB/s and 0.4 MB/s of 125 MB/s.
    assert_row(&offered, ("hosts", "up"), 8.4 / 125.0 / 5.0, 2.08 / 125.0);
    assert_row(
        &offered,
        ("hosts", "down"),
        8.4 / 125.0 / 5.0,
        4.0 * 2.08 / 125.0,
    );
    let hosts = row(&offered.together, "hosts", "up");
    assert_eq!((hosts.links, hosts.of), (5, 5));
}

#[test]
fn a_list_counts_from_its_first_start_to_its_last() {
    let list = |starts: [&str; 2]| {
        let [first, last] = starts;
        format!(
            "{STAR}[flows.given]\nworkload = \"flow-list\"\nfrom = \"senders\"\nto = \"receiver\"\ntransfers = {{ list = \
             [[\"{first}\", \"sender:0\", \"receiver\", 146000], [\"{last}\", \"sender:1\", \"receiver\", 146000]] }}\n"
        )
    };
    // 292 kB in 2 ms, of 250 kB: a burst, which is shown and not warned of.
    let text = list(["1 ms", "3 ms"]);
    assert_row(&load(&text), ("hosts", "down"), 1.168, 1.168 * FULL);
    assert_eq!(warnings(&text), []);
    // Two of them take twice the time that each takes alone, however near they begin.
    let near = load(&list(["1 ms", "1.000001 ms"]));
    assert_row(&near, ("hosts", "down"), 2.0 / FULL, 2.0);
    let left_out = |text: &str| load(text).left_out.first().map(|one| one.reason);
    assert_eq!(
        left_out(&list(["1 ms", "1 ms"])),
        Some("all that begin do so at once")
    );
    let waiting = text.replace("146000]]", "146000, \"a\", \"\", \"\"]]");
    let waiting = waiting.replace("146000],", "146000, \"\", \"\", \"a\"],");
    assert_eq!(left_out(&waiting), Some("adapts to the network"));
}

#[test]
fn what_adapts_is_left_out_by_name() {
    let flows = "[flows.long]\nworkload = \"bulk\"\nfrom = \"senders\"\nto = \"receiver\"\n\
                 [flows.late]\nworkload = \"cbr\"\nfrom = \"sender:0\"\nto = \"receiver\"\nrate = \"1 Mbit/s\"\n\
                 start = \"20 ms\"\n";
    let offered = load(&format!("{STAR}{flows}"));
    let left_out = offered.left_out.iter();
    let left_out: Vec<_> = left_out
        .map(|one| (&*one.group, one.workload, one.reason))
        .collect();
    assert_eq!(
        left_out,
        [
            ("long", "bulk", "adapts to the network"),
            ("late", "cbr", "sends nothing before the end"),
        ]
    );
    assert!(offered.groups.is_empty());
}

/// 600 Mbit/s each, of 1 Gbit/s: together too much, one after the other not.
#[test]
fn groups_add_up_while_both_send() {
    let flow = |name: &str, sender: u32, time: &str| {
        format!(
            "[flows.{name}]\nworkload = \"cbr\"\nfrom = \"sender:{sender}\"\nto = \"receiver\"\n\
             rate = \"600 Mbit/s\"\n{time}\n"
        )
    };
    let apart =
        STAR.to_owned() + &flow("a", 0, "stop = \"5 ms\"") + &flow("b", 1, "start = \"5 ms\"");
    assert_row(&load(&apart), ("hosts", "both"), 0.6, 0.6 * FULL);
    assert_eq!(warnings(&apart), []);
    let both = apart.replace("start = \"5 ms\"", "start = \"4 ms\"");
    assert_row(&load(&both), ("hosts", "down"), 1.2, 1.2 * FULL);
    let [warning] = &warnings(&both)[..] else {
        panic!("one warning");
    };
    assert!(
        warning
            .message
            .starts_with("2 groups together offer 123.3 %"),
        "{warning}"
    );
    // (1 - 0.6164) / 0.6164 x 600 = 373.3 Mbit/s are left for one of the two.
    assert_eq!(
        warning.help.as_deref(),
        Some("rate = \"373 Mbit/s\" makes it 100 %")
    );
}

#[test]
fn each_group_that_is_too_much_alone_is_warned_of() {
    let flow = |name: &str, arrivals: u32| {
        format!(
            "[flows.{name}]\nworkload = \"poisson\"\nfrom = \"senders\"\nto = \"receiver\"\nsizes = \"1 MB\"\n\
                 flow_rate = {arrivals}\n"
        )
    };
    let found = warnings(&(STAR.to_owned() + &flow("a", 500) + &flow("b", 250) + &flow("c", 1)));
    let keys: Vec<&str> = found.iter().map(|one| &*one.key).collect();
    assert_eq!(keys, ["flows.a.flow_rate", "flows.b.flow_rate"]);
    assert!(
        found[0]
            .message
            .starts_with("this group offers 411.0 %, all 3 groups 617.3 %")
    );
    assert_eq!(
        found[0].help.as_deref(),
        Some("the other groups offer 206.3 % by themselves")
    );
}

#[test]
fn load_of_is_a_fraction_of_its_links() {
    let fabric = |of: &str| {
        load(&(leaf_spine(4, 4, 12) + &everyone(&format!("load = 0.5\nload_of = \"{of}\""))))
    };
    assert_row(&fabric("uplinks"), ("uplinks", "both"), 0.5, 0.5 * FULL);
    // As many arrivals per second as that, and the same load.
    let hosts = row(&fabric("uplinks").together, "hosts", "both").application;
    assert_near(hosts, 0.5 / (3.0 * 36.0 / 47.0), 1e-9);
    assert_row(&fabric("hosts"), ("hosts", "both"), 0.5, 0.5 * FULL);
    let core = load(&(fat_tree() + &everyone("load = 0.5\nload_of = \"core\"")));
    assert_row(&core, ("core", "both"), 0.5, 0.5 * FULL);
    let dumbbell = "[run]\nduration = \"10 ms\"\n[network]\ntopology = \"dumbbell\"\nsenders = 3\nrate = \"1 Gbit/s\"\n\
                    [network.links.bottleneck]\nrate = \"100 Mbit/s\"\n";
    let across = |load_of: &str| {
        let flows = everyone(&format!("load = 0.8\nload_of = \"{load_of}\""));
        let flows = flows.replace("from = \"all\"", "from = \"senders\"");
        dumbbell.to_owned() + &flows.replace("to = \"all\"", "to = \"receiver\"")
    };
    assert_row(&load(&across("trunk")), ("trunk", "up"), 0.8, 0.8 * FULL);
    assert_row(&load(&across("hosts")), ("trunk", "up"), 8.0, 8.0 * FULL);
    // Datagrams and incasts have it too.
    let datagrams = leaf_spine(2, 2, 4)
        + "[flows.few]\nworkload = \"poisson-datagrams\"\nfrom = \"host:0\"\nto = \"host:4\"\nload = 0.5\n\
           load_of = \"uplinks\"\ntransport = { kind = \"udp\" }\n";
    assert_row(
        &load(&datagrams),
        ("uplinks", "both"),
        0.5 * 1472.0 / 1500.0,
        0.5,
    );
    let incasts = leaf_spine(2, 2, 4)
        + "[flows.few]\nworkload = \"random-incast\"\nfrom = \"all\"\nto = \"all\"\ncount = 3\nsru = \"1460 B\"\n\
           load = 0.5\nload_of = \"uplinks\"\n";
    assert_row(&load(&incasts), ("uplinks", "both"), 0.5, 0.5 * FULL);
}

#[test]
fn a_load_of_links_that_are_not_there_is_an_error() {
    let asked = |load_of: &str| everyone(&format!("load = 0.5\nload_of = \"{load_of}\""));
    for (text, expected) in [
        (
            leaf_spine(2, 2, 4) + &asked("core"),
            "this network has no core links\n  valid: \"hosts\", \"uplinks\"",
        ),
        (
            fat_tree() + &asked("trunk"),
            "valid: \"hosts\", \"uplinks\", \"core\"",
        ),
        (
            STAR.to_owned() + &asked("uplinks"),
            "this network has no uplinks\n  valid: \"hosts\"",
        ),
        (fat_tree() + &asked("spine"), "unknown load_of \"spine\""),
        (
            fat_tree() + &everyone("flow_rate = 5\nload_of = \"core\""),
            "`load_of` without `load`\n  give load, such as load = 0.5, in place of arrivals",
        ),
        (
            fat_tree() + &asked("core").replace("\"all\"", "\"host:0..3\""),
            "nothing of this group crosses the core links",
        ),
    ] {
        let found = error(&text);
        assert!(found.contains(expected), "{found}");
        assert!(found.contains(".toml:"), "{found}");
    }
}

/// Without the link of leaf 0 to spine 0 all its data pass spine 1, and all that is for it too; of the others' data
/// half passes each spine.
#[test]
fn links_that_are_down_at_the_beginning_are_not_taken() {
    let failure = |down: &str| {
        leaf_spine(3, 2, 2)
            + &format!(
                "[network.failures.one]\nbetween = [\"leaf:0\", \"spine:0\"]\ndown = \"{down}\"\n"
            )
            + &everyone("load = 0.5")
    };
    let whole = load(&failure("5 ms"));
    // 2 hosts, of whose 5 others 4 are elsewhere, over 2 links.
    assert_row(&whole, ("uplinks", "both"), 0.4, 0.4 * FULL);
    let broken = load(&failure("0 s"));
    let most = row(&broken.together, "uplinks", "both");
    assert_eq!((most.links, &*most.max_link), (5, "leaf:0->spine:1"));
    assert_near(most.max, 0.8 * FULL, 1e-9);
    assert_near(most.application, 2.4 / 5.0, 1e-9);
}

#[test]
fn oversubscription_sets_the_rate_of_the_uplinks() {
    for ratio in ["3", "\"3:1\"", "\"6 : 2\"", "3.0"] {
        let text =
            leaf_spine(4, 2, 12).replace("rate =", &format!("oversubscription = {ratio}\nrate ="));
        let read = scenario(&(text + &everyone("load = 0.2")), &[]);
        let links = read.layout().links.iter();
        let up = links.filter(|link| read.layout().name(link.ends.1).role == "spine");
        // 12 x 10 Gbit/s over 2 x 3.
        let rates: Vec<u64> = up.map(|link| link.rate.bits_per_second()).collect();
        assert_eq!(rates, [20_000_000_000; 8]);
        assert!(read.resolved().contains("oversubscription = 3.0\n"));
        // Three times what the hosts offer to others, of 47 of whom 36 are elsewhere.
        assert_row(
            read.offered_load(),
            ("uplinks", "both"),
            0.6 * 36.0 / 47.0,
            0.6 * 36.0 / 47.0 * FULL,
        );
    }
}

#[test]
fn oversubscription_that_cannot_be_is_told() {
    let with = |lines: &str| {
        let text = leaf_spine(4, 2, 12);
        text + &everyone("load = 0.2") + lines
    };
    let given =
        |ratio: &str| with("").replace("rate =", &format!("oversubscription = {ratio}\nrate ="));
    for (text, expected) in [
        (
            given("3") + "[network.links.leaf-spine]\nrate = \"40 Gbit/s\"\n",
            "[network.links.leaf-spine] gives a rate, from which it follows\n  give one of the two",
        ),
        (
            given("3") + "[network.links.up]\nof = \"leaf-spine\"\nrate = \"40 Gbit/s\"\n",
            "gives a rate, from which it follows",
        ),
        (
            given("0"),
            "oversubscription must be above 0.0 and at most 1000.0",
        ),
        (
            given("\"3 to 1\""),
            "must be a number or a ratio such as \"3:1\", found the string \"3 to 1\"",
        ),
        (
            given("\"3:0\""),
            "must be a number or a ratio such as \"3:1\"",
        ),
        (
            given("0.0001"),
            "0.0001 to 1 would give links of 600000000000000 bit/s",
        ),
    ] {
        let found = error(&text);
        assert!(found.contains(expected), "{found}");
    }
}
