"""Programs of users, which type checkers read and no test runs: wrong ones with one mistake each, and right ones."""
