"""How results are shown: tables of the terminal, and values of a notebook's cells."""
