"""The higher ways of writing a controller, on one core: what belongs together is applied, and pruned, together."""
