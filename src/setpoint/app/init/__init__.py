"""`setpoint init`: generates an app file from the files of a directory, with comments about guesses. All functions
except those of `directory` are pure."""
