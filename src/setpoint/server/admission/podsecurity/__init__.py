"""The Pod Security Standards: restrictions of a pod's host access, in three levels."""
