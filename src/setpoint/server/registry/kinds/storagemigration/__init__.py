"""The kinds of the groups `storagemigration.k8s.io` and `internal.apiserver.k8s.io`."""
