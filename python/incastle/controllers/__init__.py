"""Controllers of your own: the class to derive from, where classes come from, what goes wrong."""
