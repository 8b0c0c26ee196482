"""Gradients of whole programs against hand-written ones, autograd, JAX and PyTorch.

Run ``python -m docs.benchmarks.workloads`` after ``python -m pip install -e ".[bench,scipy]"``.
Each family of workloads is a file; `workload` says what a workload is, `contestants` who takes
part, `measure` how they are timed, and `page` makes ``docs/benchmarks.md`` of the figures.
"""
