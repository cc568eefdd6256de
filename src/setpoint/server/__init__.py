"""The API server: the request pipeline, resources, discovery, OpenAPI, and the HTTP edge."""
