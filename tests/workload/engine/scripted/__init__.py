"""A container engine in memory, for tests: the real client speaks to it, and a test decides what happens behind it."""
