"""The cache: what a server has, kept at hand and followed, for reading without asking."""
