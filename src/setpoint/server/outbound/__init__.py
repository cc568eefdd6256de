"""What the server asks of others: calls to webhooks and issuers, over the connections of `client/http`."""
