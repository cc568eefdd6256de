"""Authorization: whether a user may do what a request asks."""
