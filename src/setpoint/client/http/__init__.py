"""The transport over HTTP/1.1: our own asyncio protocol on httptools, as on the server's side."""
