"""Converts resolved Compose projects to apps. One conversion serves `setpoint up`, with the values of variables, and
`setpoint init`, with references to variables. All functions are pure."""
