"""DCP's command line: what its clients call, with its flags, variables and JSON, so that they may call Setpoint."""
