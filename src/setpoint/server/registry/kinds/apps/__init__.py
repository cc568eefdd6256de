"""The kinds of the group `apps`."""
