"""Controllers of an app: each file of them runs in a process of its own, and is replaced when it changes.

What runs inside such a process: `loading`, `definitions`, `output`, `lag`, `worker`. What runs them from outside:
`program` (one process), `hosted` (all of an app, with hot reload), `page` (what a server tells of them). `messages` are
what the two sides say to each other. docs/decisions/0038-hosted-controllers.md says why they are processes.
"""
