"""Commands about the past of objects: why, history, diff, at, blame, timeline, trace."""
