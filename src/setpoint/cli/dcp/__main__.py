"""`python -m setpoint.cli.dcp`."""

from setpoint.cli.dcp.group import main

main()
