"""Commands that run an app: from `up` to `down`."""
