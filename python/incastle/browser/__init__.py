"""The lab: the page that runs the engine in a browser, and its local server."""
