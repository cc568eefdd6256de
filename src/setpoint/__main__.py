"""`python -m setpoint` is the command `setpoint`."""

from setpoint.cli.main import main

main(prog_name="setpoint")
