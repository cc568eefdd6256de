"""Extension API servers: their availability, their documents, and the requests that are forwarded to them."""
