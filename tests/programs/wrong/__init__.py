"""Programs with one mistake each, in the line marked with `# wrong`."""
