"""The past of objects: their revisions, the log of all kinds, ownership, and the purge of past values."""
