"""Columns and cells of the Tables of built-in kinds."""
