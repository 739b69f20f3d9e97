"""Studies of one question each, with scenarios of their own: `choose-k`, `collapse`."""
