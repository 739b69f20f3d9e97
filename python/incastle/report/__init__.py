"""The HTML page about one run: `incastle report`."""
