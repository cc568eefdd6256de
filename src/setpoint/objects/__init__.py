"""What an object is: its coordinates, metadata, selectors, values and errors. Pure; imports nothing else of ours.

Use the modules by name (`from setpoint.objects import labels`); nothing is imported here, so each costs only itself.
"""
