"""Admission webhooks: their configurations, reviews and plugins."""
