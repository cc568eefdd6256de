"""What the server asks of others: a small HTTPS client for webhooks, shared by all who call one."""
