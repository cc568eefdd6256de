"""Summaries: the state of any object (ready, progressing or failed, with a reason) from a table of rules."""
