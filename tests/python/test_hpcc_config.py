"""Configurations of HPCC's simulator: what is read, the simulator's traps, and what is refused."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from hpcc_files import CONFIG, changed, oracle
from incastle.importers import hpcc_config as configs
from incastle.importers.hpcc_keys import Control
from incastle.importers.lines import BrokenFile, Lines

if TYPE_CHECKING:
    from incastle.importers.hpcc_config import HpccConfig


def read(text: str) -> HpccConfig:
    return configs.read(Lines("config.txt", text.split("\n")))


def notes(config: HpccConfig) -> list[str]:
    return [str(note) for note in config.notes]


def test_values_have_their_units() -> None:
    config = read(CONFIG)
    assert config.parameters == configs.Dcqcn(
        alpha_interval_us=1,
        decrease_interval_us=4,
        increase_interval_us=300,
        gain=1 / 256,
        fast_recovery_times=1,
        rate_ai=5_000_000,
        rate_hai=50_000_000,
        clamp_target_rate=False,
    )
    assert config.control is Control.DCQCN
    assert (config.min_rate, config.max_rate) == (100_000_000, 25_000_000_000)
    assert config.buffer_bytes == 300 * 1024
    assert config.window == (14_800, True)
    assert config.stop_ps == 1_250_000_000_000
    assert config.ecn == {
        25 * 10**9: (100_000, 400_000, 0.2),
        100 * 10**9: (400_000, 1_600_000, 0.5),
    }
    assert (config.topology_file, config.flow_file) == ("mix/topology.txt", "mix/flows.txt")
    assert (config.pfc, config.rate_bound, config.ack_high_prio) == (True, True, False)
    assert (config.link_down, config.go_back_chunk_bytes) == (None, None)


@pytest.mark.parametrize(
    ("mode", "parameters"),
    [
        (3, configs.Hpcc(4736, 0.9, 0, 5_000_000, True, True, False, 4)),
        (7, configs.Timely(10_000, 50_000, 0.8, 5_000_000, 50_000_000)),
        (8, configs.RateDctcp(1 / 256, 615_000_000)),
    ],
)
def test_each_control_has_its_own_parameters(mode: int, parameters: configs.Parameters) -> None:
    assert read(changed(("CC_MODE 1", f"CC_MODE {mode}"))).parameters == parameters


def test_the_rest_has_the_defaults_of_the_program_not_of_its_classes() -> None:
    short = """L2_ACK_INTERVAL 1
        RATE_AI 1Mb/s RATE_HAI 1Mb/s RP_TIMER 300
        KMAX_MAP 0 KMIN_MAP 0 PMAX_MAP 0"""
    config = read(short)
    assert isinstance(config.parameters, configs.Dcqcn)
    # The class has a limit of 100 Gbit/s, and a gain of 1 / 16.
    assert (config.max_rate, config.parameters.gain) == (10**10, 0.0)
    assert (config.buffer_bytes, config.window) == (16 * 1024, None)
    assert "EWMA_GAIN is missing: the gain is 0" in notes(config)[0]


def test_a_window_is_given_only_where_flows_have_one() -> None:
    assert read(CONFIG + "HAS_WIN 0\n").window is None
    assert read(changed(("VAR_WIN 1", "VAR_WIN 0"))).window == (14_800, False)
    assert read(changed(("FIXED_WIN 14800", "FIXED_WIN 0"))).window is None


def test_a_rate_without_marking_marks_above_an_empty_queue() -> None:
    assert read(CONFIG).ecn_of(10**14) == (0, 0, 0.0)


def test_keys_without_effect_are_named() -> None:
    config = read(CONFIG + "ENABLE_QCN 1\nPAUSE_TIME 5\nL2_CHUNK_SIZE 4000\nGLOBAL_T 0\n")
    for name in ("ENABLE_QCN", "PAUSE_TIME", "L2_CHUNK_SIZE", "GLOBAL_T", "L2_ACK_INTERVAL"):
        assert name in config.inert
        assert name in notes(config)[-1]
    assert config.inert["U_TARGET"] == "dcqcn does not use it"
    for name in ("CC_MODE", "RATE_AI", "BUFFER_SIZE", "VAR_WIN", "KMAX_MAP"):
        assert name not in config.inert
    assert "KMAX_MAP" in read(changed(("CC_MODE 1", "CC_MODE 7"))).inert


def test_the_traps_of_the_simulator_are_noted() -> None:
    back = read(CONFIG + "L2_BACK_TO_ZERO 1\nL2_CHUNK_SIZE 4000\n")
    assert back.go_back_chunk_bytes == 4000
    assert any("a loss goes back to a multiple of 4000 B" in note for note in notes(back))
    acks = read(changed(("L2_ACK_INTERVAL 1", "L2_ACK_INTERVAL 4")))
    assert any("L2_ACK_INTERVAL 4: every packet has an ACK" in note for note in notes(acks))
    cut = read(changed(("RP_TIMER 300", "RP_TIMER 1.9")))
    assert isinstance(cut.parameters, configs.Dcqcn)
    assert cut.parameters.increase_interval_us == 1
    assert "config.txt:9: warning: RP_TIMER 1.9: the simulator cuts the fraction: 1 us" in notes(
        cut
    )


def test_a_rate_without_a_unit_is_in_bits_per_second_as_in_ns3() -> None:
    assert read(changed(("MIN_RATE 100Mb/s", "MIN_RATE 5"))).min_rate == 5


def test_a_failing_link_counts_from_two_seconds() -> None:
    assert read(CONFIG + "LINK_DOWN 7 3 4\n").link_down == (2_000_007_000_000, 3, 4)
    assert read(CONFIG + "LINK_DOWN 0 0 0\n").link_down is None


BROKEN = [
    ("CC_MODE 1", "CC_MOD 1", 'config.txt:6: no key "CC_MOD": did you mean CC_MODE?'),
    ("CC_MODE 1", "cc_mode 1", 'config.txt:6: no key "cc_mode": did you mean CC_MODE?'),
    ("CC_MODE 1", "#CC 1", 'config.txt:6: no key "#CC": a remark stands in braces'),
    ("CC_MODE 1", "CC_MODE 1 2", "config.txt:6: expected a key after CC_MODE and its value"),
    ("CC_MODE 1", "CC_MODE 10", "config.txt:6: CC_MODE 10: HPCC-PINT is not read here; 1 (dcqcn)"),
    ("CC_MODE 1", "CC_MODE 2", "config.txt:6: CC_MODE 2: there is no such control; 1 (dcqcn), 3"),
    ("CC_MODE 1", "ENABLE_PFC 1", "config.txt:6: ENABLE_PFC is given twice; the first is in line"),
    ("ENABLE_PFC 1", "ENABLE_PFC yes", 'config.txt:1: ENABLE_PFC needs 0 or 1, found "yes"'),
    ("EWMA_GAIN 0.00390625", "EWMA_GAIN 1/16", "config.txt:10: EWMA_GAIN needs a number such as"),
    ("EWMA_GAIN 0.00390625", "EWMA_GAIN 1.5", "config.txt:10: EWMA_GAIN 1.5: 0 to 1 is allowed"),
    ("RP_TIMER 300", "RP_TIMER 0.5", "config.txt:9: RP_TIMER 0.5: at least 1 (microsecond)"),
    ("RP_TIMER 300", "", "config.txt: RP_TIMER is missing: the simulator has no default for it"),
    ("RATE_AI 5.0Mb/s", "", "config.txt: RATE_AI is missing"),
    ("RATE_AI 5.0Mb/s", "RATE_AI 5Mbit", "config.txt:12: RATE_AI needs a rate such as 100Mb/s"),
    ("L2_ACK_INTERVAL 1", "L2_ACK_INTERVAL 0", "config.txt:19: L2_ACK_INTERVAL 0: senders would"),
    ("BUFFER_SIZE 300", "BUFFER_SIZE 4194304", "config.txt:27: BUFFER_SIZE 4194304: 1 to 4194303"),
    ("BUFFER_SIZE 300", "BUFFER_SIZE 0.3", "config.txt:27: BUFFER_SIZE needs a whole number up to"),
    ("KMAX_MAP 2", "KMAX_MAP 3", "config.txt:25: KMAX_MAP needs a rate in bit/s up to"),
    ("KMAX_MAP 2 25", "KMAX_MAP 2 26", "config.txt:25: KMIN_MAP and KMAX_MAP differ in the rate 2"),
    (
        "25000000000 100",
        "25000000000 401",
        "config.txt:25: KMIN_MAP, rate 25000000000: Kmin 401 KB",
    ),
    ("2 25000000000 0.2", "2 25000000000 2", "config.txt:26: PMAX_MAP, rate 25000000000: 2: 0 to"),
    ("PMAX_MAP 2", "PMAX_MAP 1", "config.txt:26: expected a key after PMAX_MAP and its value"),
    (
        "BASE_RTT 4736",
        "BASE_RTT",
        "config.txt:30: BASE_RTT needs a whole number, and the file ends",
    ),
    ("BASE_RTT 4736", "L2_BACK_TO_ZERO 1", "config.txt:30: L2_BACK_TO_ZERO 1 needs L2_CHUNK_SIZE"),
]


@pytest.mark.parametrize(("good", "bad", "message"), BROKEN)
def test_each_mistake_has_its_place(good: str, bad: str, message: str) -> None:
    with pytest.raises(BrokenFile) as refused:
        read(changed((good, bad)))
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([("FIXED_WIN 14800\n", "")], "config.txt: HPCC needs a window: HAS_WIN 1 and FIXED_WIN"),
        ([("VAR_WIN 1", "HAS_WIN 0")], "config.txt:29: HPCC needs a window"),
        (
            [("BASE_RTT 4736\n", "")],
            "config.txt: BASE_RTT 0, the default of a missing key: at least 1 is",
        ),
        ([("INT_MULTI 4", "INT_MULTI 0")], "config.txt:22: INT_MULTI 0: at least 1 is"),
        ([("U_TARGET 0.9", "U_TARGET 0")], "config.txt:20: U_TARGET 0: above 0"),
    ],
)
def test_hpcc_needs_what_it_divides_by(changes: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(BrokenFile) as refused:
        read(changed(("CC_MODE 1", "CC_MODE 3"), *changes))
    assert str(refused.value).startswith(message)


def test_timely_has_its_thresholds_in_order() -> None:
    changes = (("CC_MODE 1", "CC_MODE 7"), ("TIMELY_T_LOW 10000", "TIMELY_T_LOW 60000"))
    with pytest.raises(BrokenFile, match="18: TIMELY_T_LOW 60000 is above TIMELY_T_HIGH 50000"):
        read(changed(*changes))


def test_all_configurations_of_the_oracle_are_read() -> None:
    folder = oracle()
    files = [*folder.rglob("*.conf"), *folder.rglob("config.txt")]
    controls = Counter(configs.read(Lines.read(file)).control for file in files)
    assert set(controls) == set(Control)
