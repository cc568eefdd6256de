"""`setpoint demo`: a sample app that is part of every installation."""
