"""Programs that branch by values: one for each way, which share what they have in common."""
