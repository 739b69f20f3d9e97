"""Rich display: results and scenarios as values of a notebook's cells."""
