"""The kinds of metrics.k8s.io: the measured usage of pods and nodes."""
