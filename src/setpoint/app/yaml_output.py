"""An app as YAML."""

from setpoint.app.model import AppFile
from setpoint.app.profiles import tree_of
from setpoint.objects import yamltext


def app_yaml(app: AppFile) -> str:
    """The app as its file, which reads as the same app."""
    return yamltext.dump(tree_of(app), in_order=True)
