"""The functions of expressions, one module per topic: the set that Kubernetes enables."""

from functools import cache

from setpoint.schema.cel.functions import Functions
from setpoint.schema.cel.libraries.authorizer import AUTHORIZER
from setpoint.schema.cel.libraries.conversions import CONVERSIONS
from setpoint.schema.cel.libraries.formats import FORMATS
from setpoint.schema.cel.libraries.lists import LISTS
from setpoint.schema.cel.libraries.network import NETWORK
from setpoint.schema.cel.libraries.operators import OPERATORS
from setpoint.schema.cel.libraries.optionals import OPTIONALS
from setpoint.schema.cel.libraries.patches import PATCHES
from setpoint.schema.cel.libraries.quantities import QUANTITIES
from setpoint.schema.cel.libraries.regex import REGEX
from setpoint.schema.cel.libraries.semvers import SEMVERS
from setpoint.schema.cel.libraries.strings import STRINGS
from setpoint.schema.cel.libraries.timestamp_parts import TIMES
from setpoint.schema.cel.libraries.urls import URLS


@cache
def kubernetes_functions(*, patches: bool = False) -> Functions:
    """Returns every function of the API server's environment; `patches` adds those that only patches need."""
    return Functions(
        [
            *(OPERATORS, CONVERSIONS, TIMES, STRINGS, LISTS, OPTIONALS, REGEX),
            *(URLS, QUANTITIES, NETWORK, SEMVERS, FORMATS, AUTHORIZER),
            *([PATCHES] if patches else []),
        ]
    )
