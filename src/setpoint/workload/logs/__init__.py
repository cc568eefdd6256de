"""The output of processes and containers: stored unchanged with an index of line numbers and times, and read back by
options.

The cost of a write does not depend on the number of lines; readers use the index to find line numbers, times and tails.
This package is independent of the API.
"""
