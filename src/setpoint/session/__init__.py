"""An app that runs: the process that hosts it, what is applied to it, and its end."""
