"""Why a flow took its time: the events behind it, in order and in words.

`record` reads the table of events into packets and events of one flow, `path` takes its completion
time apart, `timeouts` has the chain behind each retransmission timeout, `story` everything in
order, `rerun` makes a record where a result has none; `api` joins them.
"""
