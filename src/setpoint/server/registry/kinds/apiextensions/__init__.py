"""The kinds of the group `apiextensions.k8s.io`."""
