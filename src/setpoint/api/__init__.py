"""The built-in kinds of Kubernetes as classes, a module for each version of a group.

    from setpoint.api.apps.v1 import Deployment, DeploymentSpec
    from setpoint.api.core.v1 import Container, PodTemplateSpec
    from setpoint.api.meta.v1 import LabelSelector, ObjectMeta

Editors and type checkers read every field, with its documentation, from the stubs beside the modules. At run time, a
class is built from the shipped schemas on first use, with the classes of its parts; unused classes cost nothing.
`tools/api_stubs.py` (`make data`) writes the modules and the stubs.
"""
