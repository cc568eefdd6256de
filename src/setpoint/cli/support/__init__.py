"""Parts that the commands share: connections, errors, arguments, completion."""
