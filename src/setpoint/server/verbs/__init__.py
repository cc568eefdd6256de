"""The verbs of the API, one module each: `async (context, resource) -> Response`, or an APIError."""
