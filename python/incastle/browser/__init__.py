"""The lab: the page that runs the engine in a browser, served, or inside a notebook."""
