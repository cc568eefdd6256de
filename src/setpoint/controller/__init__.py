"""Controllers: the loop that brings what is to what should be, and everything around it."""
