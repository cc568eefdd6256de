"""Watches files: the patterns of watched files, and the notifications of changes."""
