"""The audit log: who asked for what, when, and what became of it."""
