"""Hosted controllers of an app: each module runs in its own process, which is replaced when its files change.

Inside of such a process: `loader`, `crd_installation`, `output`, `worker`. Outside: `program` (one process),
`hosted_controllers` (all processes of an app, with hot reload), `page` (the status page of a server). `messages` is the
protocol between both sides. See docs/decisions/0038-hosted-controllers.md for the reasons for separate processes.
"""
