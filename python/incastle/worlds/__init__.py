"""A scenario in another world: the same network in real time, with the kernel's TCP as endpoints.

`counterpart` tells whether a scenario has one, `plan` describes it, `process` runs the program
`softswitch`, and `tables` makes the result of what it measured.
"""
