//! The window controls of UDT: those of TCP, with the same parameters, over accurate ACKs.
//!
//! There is one list of window controls, TCP's `Congestion`, and the revised DCUDP, which is UDT's alone; programs choose
//! from `NamedController`, and a test holds both together. Leaves out `reno`: it differs from NewReno by TCP's recovery alone, and UDT has its own.

use incastle_congestion::{Algorithm, DcudpR, DcudpRConfig, NewRenoConfig};
use incastle_transport::udt::Accurate;
use incastle_transport::udt::wire::AckRate;
use incastle_units::{Amount, Bytes, Ecn, Packets, Span};

use crate::custom::Custom;
use crate::grammar::declare::table;
use crate::grammar::describe::{Alternative, Choice, Description, Member};
use crate::grammar::range::{above, above_to, below_one, between};
use crate::grammar::reader::{Reader, Table};
use crate::grammar::value::Vocabulary;
use crate::grammar::writer::Writer;
use crate::tcp::Congestion;
use crate::text::context::Context;
use crate::text::node::quoted;

/// The key.
const KEY: &str = "congestion";
/// UDT's own control, which is the default.
const NATIVE: &str = "udt";
/// The control of TCP that is NewReno here.
const RENO: &str = "reno";
/// The control that TCP has not.
const REVISED: &str = "dcudp-r";

/// Its defaults. None of those that are read here depends on the packet.
fn revised() -> DcudpRConfig {
    DcudpRConfig::new(Bytes::new(1))
}

/// The control of a UDT connection.
#[derive(Debug, Clone, PartialEq)]
pub enum UdtControl {
    /// UDT's own, by NAKs.
    Native,
    /// A window control of TCP.
    Window(WindowControl),
    /// DCUDP, revised.
    Revised(Revised),
}

/// A window control, and the acknowledgements that it gets.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowControl {
    /// The control.
    pub congestion: Congestion,
    /// The keys that all of them have.
    pub keys: WindowKeys,
}

table! {
    /// The keys of every window control.
    pub struct WindowKeys {
        /// Whether data are ECN-capable: ECT(1) under prague, else ECT(0).
        value ecn: UdtEcn = UdtEcn::Control;
        /// The peer acknowledges at least every this many packets.
        value packets_per_ack: u32 = u32::from(AckRate::default().packets), in between(1, 255);
        /// The peer acknowledges at least this many times per round trip while packets arrive.
        value acks_per_rtt: u32 = u32::from(AckRate::default().per_rtt), in between(1, 255);
        /// The window at the start; packets are full ones.
        value initial_window: Amount = Amount::Packets(Packets::new(10));
    }
}

crate::grammar::declare::words! {
    /// The use of ECN by UDT's data.
    pub enum UdtEcn {
        /// With a control that needs the fraction of marked data: dctcp, d2tcp, dt-cwa and prague.
        "control" => Control,
        /// With any.
        "on" => On,
        /// With none.
        "off" => Off,
    }
}

table! {
    /// DCUDP, revised.
    pub struct Revised {
        /// The shortest T, the time that flows have in common: rates do not depend on round trips below a quarter of it.
        value interval: Span = revised().interval, in above_to(Span::ZERO, Span::from_secs(60));
        /// Growth: an unmarked packet adds kappa / sqrt(w) packets per T, where w packets leave per T.
        value kappa: f64 = revised().kappa, in above(0.0);
        /// Packets per T that a marked packet takes.
        value delta: f64 = revised().delta, in above_to(0.0, 1.0);
        /// The part of the packets whose loss counts as random.
        value loss_tolerance: f64 = revised().loss_tolerance, in below_one();
        /// The window at the start.
        value initial_window: Packets = Packets::new(revised().initial_window.into()), in between(Packets::new(1), Packets::new(65_536));
        /// The peer acknowledges at least every this many packets.
        value packets_per_ack: u32 = u32::from(AckRate::default().packets), in between(1, 255);
        /// The peer acknowledges at least this many times per round trip while packets arrive.
        value acks_per_rtt: u32 = u32::from(AckRate::default().per_rtt), in between(1, 255);
    }
}

/// The words of `congestion`: a user's own last.
fn words() -> Vec<&'static str> {
    let of_tcp = Congestion::WORDS.iter().copied();
    let mut words: Vec<_> = std::iter::once(NATIVE)
        .chain(of_tcp.filter(|word| *word != RENO))
        .collect();
    words.insert(words.len() - 1, REVISED);
    words
}

/// The remedy for another word.
fn instead(word: &str) -> Option<String> {
    if word == RENO {
        return Some(quoted("new-reno"));
    }
    crate::elsewhere::instead(word)
}

/// Those of TCP and the revised DCUDP, with their keys.
fn alternatives() -> Vec<Alternative> {
    let members = Congestion::description().members;
    let choices = members.into_iter().filter_map(|member| match member {
        Member::Choice(choice) => Some(choice.alternatives),
        _ => None,
    });
    let kept = choices.flatten().filter(|one| one.word != RENO);
    let mut all: Vec<_> = kept
        .map(|mut one| {
            WindowKeys::describe(&mut one.table);
            one
        })
        .collect();
    let mut table = Description::default();
    Revised::describe(&mut table);
    let revised = Alternative {
        word: REVISED,
        about: crate::elsewhere::REVISED.to_owned(),
        table,
    };
    all.insert(all.len() - 1, revised);
    all
}

impl Table for UdtControl {
    fn describe(description: &mut Description) {
        let native = Alternative {
            word: NATIVE,
            about: "UDT's own: NAKs lengthen a sending period, ACKs every SYN shorten it"
                .to_owned(),
            table: Description::default(),
        };
        description.members.push(Member::Choice(Choice {
            key: KEY,
            about: "The sender's congestion control. All but `udt` are window controls, over accurate ACKs.".to_owned(),
            default: Some(NATIVE),
            alternatives: std::iter::once(native).chain(alternatives()).collect(),
        }));
    }

    fn read(reader: &mut Reader<'_>, cx: &mut Context<'_>) -> Option<Self> {
        let words = words();
        let vocabulary = Vocabulary {
            elsewhere: instead,
            besides: Some("a Python class such as \"my_controller.py:Delay\""),
            ..Vocabulary::of(&words)
        };
        let word = reader.word(cx, KEY, vocabulary, Some(NATIVE))?;
        if word == NATIVE {
            return Some(Self::Native);
        }
        if word == REVISED {
            return Revised::read(reader, cx).map(Self::Revised);
        }
        let congestion = Congestion::read_as(word, reader, cx);
        let keys = WindowKeys::read(reader, cx);
        Some(Self::Window(WindowControl {
            congestion: congestion?,
            keys: keys?,
        }))
    }

    fn write(&self, writer: &mut Writer) {
        match self {
            Self::Native => writer.value(KEY, &quoted(NATIVE)),
            Self::Window(window) => {
                window.congestion.write(writer);
                window.keys.write(writer);
            }
            Self::Revised(revised) => {
                writer.value(KEY, &quoted(REVISED));
                revised.write(writer);
            }
        }
    }
}

impl UdtControl {
    /// The window control of TCP, if it is one.
    pub fn window(&self) -> Option<&WindowControl> {
        match self {
            Self::Native | Self::Revised(_) => None,
            Self::Window(window) => Some(window),
        }
    }

    /// The user-defined controller, to be completed, if it is one.
    pub(crate) fn custom_mut(&mut self) -> Option<&mut Custom> {
        match self {
            Self::Window(WindowControl {
                congestion: Congestion::Custom(custom),
                ..
            }) => Some(custom),
            _ => None,
        }
    }
}

fn acks(packets: u32, per_rtt: u32) -> AckRate {
    let part = |count: u32| u8::try_from(count).expect("the range lies within 8 bits");
    AckRate {
        packets: part(packets),
        per_rtt: part(per_rtt),
    }
}

impl Revised {
    /// As the transport has it.
    pub(crate) fn accurate(&self) -> Accurate {
        Accurate {
            rate: acks(self.packets_per_ack, self.acks_per_rtt),
            ecn: Ecn::Ect0,
            ect_timeouts: None,
        }
    }

    /// A controller at the beginning of a connection with full packets of that payload.
    pub(crate) fn controller(&self, payload: Bytes) -> Algorithm {
        let initial = u32::try_from(self.initial_window.count());
        Algorithm::from(DcudpR::new(DcudpRConfig {
            interval: self.interval,
            kappa: self.kappa,
            delta: self.delta,
            loss_tolerance: self.loss_tolerance,
            initial_window: initial.expect("the range lies within 32 bits"),
            ..DcudpRConfig::new(payload)
        }))
    }
}

impl WindowControl {
    /// The ECN field of data.
    pub fn ecn(&self) -> Ecn {
        let capable = match self.keys.ecn {
            UdtEcn::Control => self.congestion.needs_fractions(),
            UdtEcn::On => true,
            UdtEcn::Off => false,
        };
        match self.congestion {
            _ if !capable => Ecn::NotEct,
            // RFC 9331, section 4.1.
            Congestion::Prague(_) => Ecn::Ect1,
            _ => Ecn::Ect0,
        }
    }

    /// As the transport has it.
    pub(crate) fn accurate(&self) -> Accurate {
        Accurate {
            rate: acks(self.keys.packets_per_ack, self.keys.acks_per_rtt),
            ecn: self.ecn(),
            ect_timeouts: None,
        }
    }

    /// An amount in bytes, where full packets have this payload.
    pub fn bytes(amount: Amount, payload: Bytes) -> Bytes {
        match amount {
            Amount::Bytes(bytes) => bytes,
            Amount::Packets(packets) => Bytes::new(packets.count().saturating_mul(payload.count())),
        }
    }

    /// A controller at the beginning of a connection with full packets of that payload, over a path with this number of
    /// switches.
    pub fn controller(&self, payload: Bytes, hops: u32) -> Algorithm {
        let window = NewRenoConfig {
            initial_window: Self::bytes(self.keys.initial_window, payload),
            ..NewRenoConfig::new(payload)
        };
        self.congestion.controller(window, hops, 1)
    }
}

#[cfg(test)]
mod tests {
    use incastle_congestion::NamedController;

    use super::*;

    #[test]
    fn scenarios_and_programs_have_one_list_of_window_controls() {
        let named = NamedController::ALL.map(NamedController::name);
        let of_scenarios = words();
        assert_eq!(of_scenarios[0], NATIVE);
        let (custom, listed) = of_scenarios[1..].split_last().expect("words");
        assert_eq!(*custom, "custom");
        assert_eq!(listed, named);
    }

    #[test]
    fn every_window_control_has_the_keys_of_acknowledgements() {
        for one in alternatives() {
            let keys = one.table.all_keys();
            assert!(
                keys.iter().any(|(key, _)| *key == "packets_per_ack"),
                "{keys:?}"
            );
        }
    }
}
