"""Relations: who owns, uses, selects and targets whom, for any object, from a table of rules."""
