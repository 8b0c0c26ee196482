"""The evaluations of GradBench, in words of our own, beside other libraries.

Run ``python -m docs.benchmarks.gradbench`` after ``python -m pip install -e ".[bench,scipy]"``.
Each evaluation is a file of `Workload` s, whose ``by_hand`` is the reference that every result is
checked against.  https://github.com/gradbench/gradbench says what they compute.
"""
