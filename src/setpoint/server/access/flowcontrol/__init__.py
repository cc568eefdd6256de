"""Fair sharing and overload: who waits for whom when a server is busy, and who is told to come back later."""
