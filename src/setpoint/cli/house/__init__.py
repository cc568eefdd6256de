"""Commands about Setpoint itself: where it is, which version, and whether the machine suits it."""
