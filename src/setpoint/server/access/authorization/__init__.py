"""Authorization: decides if a user may perform the requested action."""
