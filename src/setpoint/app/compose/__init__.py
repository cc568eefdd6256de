"""Resolves Compose files to one project, with the rules and the result of Docker Compose.

`resolver.resolve` reads all files through a `Reader`, and returns a `Project` in the long form that
`docker compose config --format json` prints. Other packages import this one only when a Compose file is used.
"""
