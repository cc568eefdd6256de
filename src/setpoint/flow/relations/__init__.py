"""Relations between objects: ownership, use, selection and targets, from a table of rules."""
