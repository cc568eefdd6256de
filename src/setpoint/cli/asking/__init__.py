"""Commands that ask about the past, and why: why, history, diff, at, blame, timeline, trace."""
