"""The Pod Security Standards: what a pod may ask of the machine it runs on, in three levels."""
