"""Disruption budgets: the number of pods that may be evicted."""
