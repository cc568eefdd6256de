"""`python -m setpoint` is the command `setpoint`."""

from setpoint.cli.start import start

start()
