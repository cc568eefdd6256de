"""Generating handlers: a controller as one function, from a parent to its children and its status.

    @generates(App, kinds=[Deployment, Service], condition="Deployed")
    def render(app: App, status: AppStatus) -> Iterator[Resource]:
        yield Deployment(metadata=child(app), spec=...)
        if app.spec.port:
            yield Service(metadata=child(app), spec=...)
            status.url = f"http://{app.metadata.name}"

    Manager(client, controllers=[render])

The function returns the wanted children, and an apply set writes them. No object is written before the function has
ended, and no child is deleted unless all others are in place: a function that fails or waits leaves the children
unchanged.
"""

from setpoint.flow.generate.child_names import child
from setpoint.flow.generate.declare import generates, status_of

__all__ = ["child", "generates", "status_of"]
