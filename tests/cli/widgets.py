"""Kinds for the tests of `setpoint crd`."""

from __future__ import annotations

from setpoint.schema.types import Model, Resource


class WidgetSpec(Model):
    size: int = 1


class Widget(Resource, group="ex.com", version="v1"):
    spec: WidgetSpec


class WidgetBeta(Widget, version="v1beta1"):
    spec: WidgetSpec


class Gadget(Resource, group="ex.com", version="v1", short_names=["gd"]):
    spec: WidgetSpec


class Tree(Model):
    below: list[Tree]


class Forest(Resource, group="other.com", version="v1"):
    spec: Tree


class Base(Resource):
    spec: WidgetSpec
