"""The HTTP/1.1 transport: an asyncio protocol built on httptools, like the server's."""
