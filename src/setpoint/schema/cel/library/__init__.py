"""The functions that expressions may call, one module a topic: the set that Kubernetes turns on."""

from functools import cache

from setpoint.schema.cel.functions import Functions
from setpoint.schema.cel.library.authorizer import AUTHORIZER
from setpoint.schema.cel.library.conversions import CONVERSIONS
from setpoint.schema.cel.library.formats import FORMATS
from setpoint.schema.cel.library.lists import LISTS
from setpoint.schema.cel.library.network import NETWORK
from setpoint.schema.cel.library.operators import OPERATORS
from setpoint.schema.cel.library.optionals import OPTIONALS
from setpoint.schema.cel.library.quantities import QUANTITIES
from setpoint.schema.cel.library.regex import REGEX
from setpoint.schema.cel.library.semvers import SEMVERS
from setpoint.schema.cel.library.strings import STRINGS
from setpoint.schema.cel.library.times import TIMES
from setpoint.schema.cel.library.urls import URLS


@cache
def kubernetes_functions() -> Functions:
    """Every function of the API server's environment."""
    return Functions(
        [
            *(OPERATORS, CONVERSIONS, TIMES, STRINGS, LISTS, OPTIONALS, REGEX),
            *(URLS, QUANTITIES, NETWORK, SEMVERS, FORMATS, AUTHORIZER),
        ]
    )
