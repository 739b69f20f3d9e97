"""`incastle validate-worlds`: the kernel's TCP in real time against the simulator."""

from incastle.worlds.comparison.command import EXAMPLES, validate_worlds

__all__ = ["EXAMPLES", "validate_worlds"]
