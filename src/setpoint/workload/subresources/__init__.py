"""What is below workload objects in the API: their logs, and their processes to talk with."""
