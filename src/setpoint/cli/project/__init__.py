"""Commands about the app file: written, rendered, drawn."""
