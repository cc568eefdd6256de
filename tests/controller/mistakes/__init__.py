"""Common mistakes in controllers, and their messages: the table of docs/common-mistakes.md."""
