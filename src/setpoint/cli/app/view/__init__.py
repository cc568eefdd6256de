"""The terminal view of an app while the app starts and runs."""
