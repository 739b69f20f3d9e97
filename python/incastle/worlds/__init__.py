"""A scenario in another world: the same network in real time, with real endpoints.

Those of the world linux are the kernel's TCP, those of the world sockets our transport on UDP
sockets. `counterpart` and `sockets` tell whether a scenario has one, `plan` describes it, `process`
runs the program `softswitch`, and `tables` makes the result of what it measured.
"""
