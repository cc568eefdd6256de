"""Jobs: pods that run until a number of them has succeeded."""
