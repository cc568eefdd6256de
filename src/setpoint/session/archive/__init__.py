"""Archives: a session's stored revisions and logs in one file, and opening such a file as a read-only session."""
