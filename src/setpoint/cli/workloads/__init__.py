"""Commands about running workloads: processes, containers, services and tasks."""
