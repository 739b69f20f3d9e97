"""Networks and flows of other simulators, read into scenarios.

`recognise` determines what a file is. `hpcc_topology` and `hpcc_flows` read files of HPCC's ns-3
simulator, `htsim_topology` and `htsim_matrix` those of htsim; each opens with the format that it
reads. What they give, a `Network` and `Transfers`, `write` puts into a scenario and its list of
transfers. docs/import.md has the formats key by key, and what is left out.
"""
