"""The built-in admission plugins, one module each, under the names by which they are enabled and disabled."""
