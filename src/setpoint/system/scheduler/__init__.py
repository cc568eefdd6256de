"""The scheduler: assigns pods to nodes by filters and scores, as kube-scheduler's default profile does."""
