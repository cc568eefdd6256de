"""The health probes of workloads: their types, their schedule, and the evaluation of their results."""
