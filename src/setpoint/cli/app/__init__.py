"""Commands on an app and its file: init, up, down, run, stop, start, restart, graph, render."""
