"""CustomResourceDefinitions in the server: their lifecycle, their resources, and the bundled definitions."""
