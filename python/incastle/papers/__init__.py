"""The papers that Incastle ships: a folder each, found by `incastle.reproduction`."""
