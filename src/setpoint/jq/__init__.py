"""A subset of jq on decoded JSON: paths, selections, comparisons, arithmetic, and the most used functions."""
