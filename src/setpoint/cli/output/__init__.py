"""The output of commands: tables, objects in every form, colours by meaning, and a line of progress."""
