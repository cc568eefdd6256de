"""The HTTP edge: sockets, TLS, certificates and HTTP/1.1, turned into calls of one handler."""
