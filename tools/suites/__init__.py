"""Runs suites of other projects against Setpoint. docs/suites.md has the results."""
