"""What makes objects come true: one controller a kind, each closing the loop between a spec and this machine."""
