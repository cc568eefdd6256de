"""Resource quotas: the usage of objects, and its accounting by namespace."""
