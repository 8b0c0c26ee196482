"""New arrays: like others, from values, joined."""
