"""Commands about the history of objects: why, history, diff, at, blame, timeline, trace."""
