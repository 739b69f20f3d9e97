//! The frame of a pause by priority (PFC).
//!
//! Sources: IEEE 802.1Q, clause 36 (802.1Qbb), and 802.3, annexes 31A and 31D: a MAC control frame without a tag.
//! Leaves out: the frame of 802.3x, which pauses a whole link.

use incastle_queueing::PauseFrame;

use crate::Frame;
use crate::frame::MIN_FRAME;

/// 802.3, 31A: the address of MAC control, which bridges do not forward.
const MAC_CONTROL_ADDRESS: [u8; 6] = [0x01, 0x80, 0xC2, 0x00, 0x00, 0x01];
/// 802.3, 31A: the EtherType of MAC control.
const MAC_CONTROL: u16 = 0x8808;
/// 802.3, 31D: the opcode of a pause by priority.
const PRIORITY_PAUSE: u16 = 0x0101;

impl Frame {
    /// The frame of a pause, from the address of its sender: the set of priorities, and a time in quanta for each of the
    /// eight, 0 for those that are not in the set.
    pub fn pause(from: [u8; 6], pause: PauseFrame) -> Self {
        let mut head = Vec::with_capacity(MIN_FRAME);
        head.extend(MAC_CONTROL_ADDRESS);
        head.extend(from);
        head.extend(MAC_CONTROL.to_be_bytes());
        head.extend(PRIORITY_PAUSE.to_be_bytes());
        let enabled = pause.priorities.bits();
        head.extend(u16::from(enabled).to_be_bytes());
        for priority in 0..8 {
            let quanta = if enabled >> priority & 1 == 1 {
                pause.quanta
            } else {
                0
            };
            head.extend(quanta.to_be_bytes());
        }
        let zeros = MIN_FRAME - head.len();
        Self::new(head, zeros)
    }
}

#[cfg(test)]
mod tests {
    use incastle_queueing::PrioritySet;

    use super::*;
    use crate::SwitchPort;

    fn bytes(priorities: u8, quanta: u16) -> Vec<u8> {
        let pause = PauseFrame {
            priorities: PrioritySet::from_bits(priorities),
            quanta,
        };
        Frame::pause(SwitchPort(6).mac(), pause).to_bytes()
    }

    #[test]
    fn pauses_have_the_bytes_of_the_standard() {
        // Priorities 3 and 5 are bits 3 and 5: 0x28.
        let expected = [
            &[0x01, 0x80, 0xC2, 0, 0, 1, 6, 0, 0, 0, 0, 7, 0x88, 0x08][..],
            &[0x01, 0x01, 0x00, 0x28],
            &[0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0],
            &[0; 26],
        ];
        assert_eq!(bytes(0x28, u16::MAX), expected.concat());
        assert_eq!(bytes(0x28, u16::MAX).len(), 60);
    }

    #[test]
    fn a_frame_that_resumes_has_times_of_zero() {
        let frame = bytes(0x81, 0);
        assert_eq!(frame[16..18], [0x00, 0x81]);
        assert_eq!(frame[18..], [0; 42]);
    }
}
