"""Benchmarks for airspeed velocity: half of the workloads, from commit to commit.

Run ``asv run --config docs/benchmarks/asv.conf.json`` for the last commit, or with a range as
``v0.2.0..main``.
"""
