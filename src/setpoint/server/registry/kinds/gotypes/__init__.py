"""The Go types of the built-in kinds: the form that these give to objects, and their fields."""
