"""The output of commands: tables, objects in several formats, colours, and progress."""
