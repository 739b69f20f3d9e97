"""Estimates of completion times for fabrics too large for one event loop.

`api` is what users call, `apart` takes a scenario apart, `on_dask` has links simulated on a
cluster, `kept` has the delays of finished links on the disk, `picture` draws. The estimate itself
is in Rust: `crates/estimate`.
"""
