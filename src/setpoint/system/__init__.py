"""The system controllers of every cluster: garbage collection, namespaces, service accounts and so on."""
