"""Authentication: client certificates, bearer tokens, anonymous requests and impersonation."""
