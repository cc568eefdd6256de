"""`setpoint demo`: an example app that is there wherever Setpoint is installed."""
