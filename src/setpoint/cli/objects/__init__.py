"""Commands on objects of any kind, with the syntax of kubectl."""
