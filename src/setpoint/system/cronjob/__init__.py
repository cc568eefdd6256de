"""Cron jobs: jobs that start at the times of a schedule."""
