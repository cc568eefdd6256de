"""Which rules a server has, in the order in which the real server asks them."""

from collections.abc import Collection, Sequence

from setpoint.server.admission.lifecycle import NamespaceLifecycle
from setpoint.server.admission.operation import Plugin


def plugins(registered: Sequence[Plugin] = (), disabled: Collection[str] = ()) -> list[Plugin]:
    """The server's own plugins, but for those that were switched off, with those that a program registered: these come
    behind what fills objects in, and before what only judges."""
    own: list[Plugin] = [NamespaceLifecycle()]
    return [*(plugin for plugin in own if plugin.name not in disabled), *registered]
