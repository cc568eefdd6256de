"""Commands that look at what runs: processes, containers, services and tasks."""
