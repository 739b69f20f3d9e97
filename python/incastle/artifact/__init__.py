"""Artifacts: a report or results with all that repeats them, as an RO-Crate, and their check."""
