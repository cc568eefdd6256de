"""The rules that every cluster has, one module each, under the names by which they are switched on and off."""
