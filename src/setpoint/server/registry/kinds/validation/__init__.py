"""Validation of fields that several kinds have."""
