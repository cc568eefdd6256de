"""API objects: their coordinates, metadata, selectors, values and errors. Pure; imports no other package of Setpoint.

Import the modules by name (`from setpoint.objects import labels`); this package imports none of them, so that each
loads alone.
"""
