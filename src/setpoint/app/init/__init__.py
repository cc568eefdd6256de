"""`setpoint init`: an app file from what a directory has, with comments that say what was guessed. Pure functions; only
`listing` looks at the disk."""
