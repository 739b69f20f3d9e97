"""The measurements of `incastle bench`: scenarios, the same work on other simulators, in turns."""
