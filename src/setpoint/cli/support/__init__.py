"""Common code of the commands: connections, errors, arguments, completion."""
