"""How much of each thing a namespace may have: what an object counts for, and the books that are kept of it."""
