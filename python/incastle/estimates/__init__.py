"""Estimates of completion times for fabrics too large for one event loop.

`api` is what users call, `kept` the delays of finished links on the disk, `picture` the figure. The
estimate itself is in Rust: `crates/scenario/src/estimate`.
"""
