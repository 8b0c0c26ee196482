"""Programs that branch by values: a tree of specializations with shared prefixes."""
