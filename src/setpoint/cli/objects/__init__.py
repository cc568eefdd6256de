"""Commands on objects of any kind, in the grammar of kubectl."""
