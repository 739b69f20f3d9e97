"""What `incastle bench` measures: scenarios, the same work on other simulators, in turns."""
