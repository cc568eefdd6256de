"""What commands print: tables, objects in every form, colours by meaning, and a line of progress."""
