"""Programs for autograd are run in its place, not collected."""

collect_ignore_glob = ["programs/*.py"]
