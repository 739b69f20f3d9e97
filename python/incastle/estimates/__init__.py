"""Estimates of completion times for fabrics too large for one event loop.

`api` is what a user calls. `incastle.decomposition` takes a scenario apart,
`incastle.cluster.estimates` simulates links on a cluster, `incastle.storage.delays` keeps the
delays of finished links. The estimate itself is in Rust: `crates/estimate`.
"""
