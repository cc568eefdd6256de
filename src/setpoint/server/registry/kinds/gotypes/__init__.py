"""The Go types of the built-in kinds: their fields, and the form of objects that results from them."""
