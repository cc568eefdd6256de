"""The server side of the dashboard: the files of the page, logins, and the sessions of browsers."""
