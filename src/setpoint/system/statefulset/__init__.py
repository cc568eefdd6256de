"""Stateful sets: pods with fixed names, an order, and claims of their own."""
