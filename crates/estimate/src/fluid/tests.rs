//! Rates, levels and ends of flows by hand, and what links can spare.

use super::*;

/// When flows ended, in whole microseconds.
#[derive(Default)]
struct Notes {
    ends: Vec<(usize, u64)>,
    filled: Vec<(usize, u64, Load)>,
}

impl Observer for Notes {
    fn changed(&mut self, _: Time, _: &FlowView<'_>) {}

    fn load_changed(&mut self, now: Time, link: usize, load: Load) {
        let us = now.as_ps() / 1_000_000;
        self.filled.push((link, us, load));
    }

    fn ended(&mut self, now: Time, view: &FlowView<'_>) {
        self.ends.push((view.flow, now.as_ps() / 1_000_000));
    }
}

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn stream(bits: f64, path: &[u32]) -> Stream {
    Stream {
        bits,
        rate_alone: 10e9,
        path: path.to_vec(),
    }
}

#[test]
fn flows_on_a_link_share_it() {
    let (mut fluid, mut notes) = (Fluid::new(vec![10e9], 1), Notes::default());
    // 1 Mbit takes 100 us alone. The second flow arrives after 50 us. Then the first has half of its bits left
    // and takes 100 us for them; the second has half of its bits left.
    fluid.arrive(us(0), 0, &stream(1e6, &[0]), &mut notes);
    assert!(fluid.is_busy(0) && !fluid.is_full(0));
    fluid.pass(us(50), &mut notes);
    fluid.arrive(us(50), 1, &stream(1e6, &[0]), &mut notes);
    assert!(fluid.is_full(0));
    fluid.pass(Time::NEVER, &mut notes);
    assert_eq!(notes.ends, [(0, 150), (1, 200)]);
    assert_eq!(notes.filled, [(0, 50, Load::Full), (0, 150, Load::Spare)]);
    assert!(!fluid.is_busy(0) && !fluid.is_full(0));
}

#[test]
fn rates_are_max_min_fair() {
    let (mut fluid, mut notes) = (Fluid::new(vec![10e9; 4], 2), Notes::default());
    for (flow, path) in [&[0_u32, 1][..], &[0], &[0], &[1, 2], &[2, 3]]
        .iter()
        .enumerate()
    {
        fluid.arrive(us(0), flow as u32, &stream(1e9, path), &mut notes);
    }
    let rate = |flow: usize| fluid.flows[flow].rate;
    let rates = (0..5).map(|flow| (rate(flow) / 1e6) as u64);
    // Three flows on the first link have a third each. The fourth shares the third link with the fifth. Half
    // of that is less than the two thirds left of the second link.
    assert_eq!(
        rates.collect::<Vec<_>>(),
        [3_333, 3_333, 3_333, 5_000, 5_000]
    );
    assert_eq!(
        [0, 1, 2, 3].map(|link| fluid.is_full(link)),
        [true, false, true, false]
    );
}

#[test]
fn what_links_can_spare_is_what_flows_leave_of_them() {
    let (mut fluid, mut notes) = (Fluid::new(vec![10e9; 7], 3), Notes::default());
    for flow in 0..400_u32 {
        let at = us(u64::from(flow) * 37);
        fluid.pass(at, &mut notes);
        let path = [flow % 7, (flow / 3) % 7, (flow / 11) % 7];
        let different = path[0] != path[1] && path[1] != path[2] && path[0] != path[2];
        let path = if different { &path[..] } else { &path[..1] };
        let bits = f64::from(flow % 13 + 1) * 1e5;
        fluid.arrive(at, flow, &stream(bits, path), &mut notes);
        for link in 0..7_u32 {
            let wanted: f64 = fluid.members[link as usize]
                .iter()
                .map(|&slot| fluid.available[slot as usize].without(link))
                .sum();
            let Link { level, spare } = fluid.links[link as usize];
            assert!((spare - (room(10e9) - wanted)).abs() < 1.0, "link {link}");
            assert!(level.is_finite() || spare >= -100.0, "link {link}");
        }
    }
    assert!(notes.filled.len() > 100, "links were full now and then");
}

#[test]
fn a_level_divides_what_the_others_leave() {
    let level = |demands: &[f64]| level(10.0, &mut demands.to_vec());
    assert!(level(&[4.0, 6.0]).is_infinite());
    // 2 is less than a share; the two others have 4 each.
    assert!((level(&[2.0, 9.0, 9.0]) - 4.0).abs() < 1e-9);
    assert!((level(&[9.0, 9.0, 9.0, 9.0]) - 2.5).abs() < 1e-9);
}
