"""Conversion of custom resources between versions: by a webhook, or by a function in this process."""
