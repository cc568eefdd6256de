"""Commands for authors of controllers: status, logs, scaffolding, and running controllers during development."""
