"""Files that are watched: which of them count, and how their changes are heard of."""
