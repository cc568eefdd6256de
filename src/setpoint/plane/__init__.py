"""Control planes: a store, the API server over that store, and its controllers, in one process."""

from setpoint.plane.control_plane import ControlPlane as ControlPlane
from setpoint.plane.errors import PlaneError as PlaneError
from setpoint.plane.store_specification import open_store as open_store
from setpoint.server.server_options import Serving as Serving
