"""Executables that an IDE runs, under its debugger."""
