"""What becomes of an object that a webhook or a policy changed: it is decoded and given its defaults once more."""

from setpoint.objects.errors import InternalError
from setpoint.objects.tree import Object
from setpoint.server.admission.operation import Operation


def replace(operation: Operation, tree: Object) -> None:
    """Puts a changed object in the place of the operation's, with the shape and the defaults of its kind. What the
    kind does not have is dropped without a word, as on the real server; what cannot be of the kind is an error."""
    resource = operation.resource
    try:
        resource.shape.admit(tree)
    except ValueError as error:
        raise InternalError.of(str(error)) from None
    resource.strategy.default(tree)
    operation.object = tree
