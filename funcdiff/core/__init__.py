"""Programs: what they are, how they are recorded, run, printed, parsed and verified."""
