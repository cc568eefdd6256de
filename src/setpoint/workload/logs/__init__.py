"""Output of processes and containers: captured raw with an index of when which line came, read back in any cut.

Writing costs the same however many lines there are; what a reader asks for (numbers, times, a tail) is found by the
index when it is asked for. Nothing here knows of the API.
"""
