"""Questions about what was, and why: the past of objects, their differences, who set which field, chains of causes."""
