"""Programs to equal programs."""
