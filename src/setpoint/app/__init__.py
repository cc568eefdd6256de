"""The app file, `setpoint.yaml`: describes an app of several services in a few lines, and is rendered to objects."""
