"""One queue pair of RDMA with three packets, over a star."""

ONE = """\
name = "one"
run = { duration = "20 ms" }
transport = { kind = "rdma", congestion = "timely", traffic_class = 3 }

[network]
topology = "star"
senders = 2
rate = "100 Gbit/s"
delay = "1 us"

[flows.one]
workload = "bulk"
from = "sender:0"
to = "receiver"
size = "10 KB"
start_spread = "0 s"
"""
"""Packets of 4156 (with the RETH), 4140 and 1852 bytes, 80 ps a byte."""
