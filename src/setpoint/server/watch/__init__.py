"""The machinery of watches: shared frames, fan-out, and revisions by their times."""
