"""Summaries: one answer for any object (ready, progressing or failed, and why) from a table of rules."""
