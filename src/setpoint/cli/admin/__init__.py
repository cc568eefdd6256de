"""Commands about servers, sessions and this installation: serve, user, sessions, clean, doctor, version."""
