"""The archive of a server: its stored revisions and logs in one file, and reading such a file."""
