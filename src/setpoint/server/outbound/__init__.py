"""Outgoing calls of the server to webhooks and token issuers, over the connections of `client/http`."""
