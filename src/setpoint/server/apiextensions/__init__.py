"""CustomResourceDefinitions in the server: their life, and those that the program brings along."""
