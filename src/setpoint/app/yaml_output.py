"""Converts an app to YAML."""

from setpoint.app.model import AppFile
from setpoint.app.profiles import tree_of
from setpoint.objects import yamltext


def app_yaml(app: AppFile) -> str:
    """Returns the app as the text of an app file, which parses to the same app."""
    return yamltext.dump(tree_of(app), in_order=True)
