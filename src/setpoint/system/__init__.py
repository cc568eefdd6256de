"""The controllers every cluster has: garbage collection, namespaces, service accounts and what belongs to them."""
