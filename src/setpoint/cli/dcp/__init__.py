"""A command line compatible with DCP: the same flags, variables and JSON, so that clients of DCP can call Setpoint."""
