"""The dashboard: the files of its page, which a server serves below `/dashboard/` (`server.dashboard`)."""
