"""A session in one file: every revision that is kept, and the output; and the way back, to be looked at only."""
