"""Converts files of Skaffold for an app file: built images, and the single-container workloads of plain manifests."""

import base64
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml

from setpoint.app.compose.project import Reader
from setpoint.app.foreign_fields import Fields, Notes, several, without_empty
from setpoint.app.init.draft import Draft
from setpoint.app.reader import app_name
from setpoint.app.references import written
from setpoint.objects import typedyaml
from setpoint.objects.tree import Object
from setpoint.objects.typedyaml import Mistakes, ParsedFile

_SERVICES = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "DaemonSet", "Pod")
_TASKS = ("Job", "CronJob")
_TOP = {
    "profiles": "profiles of Skaffold patch its own file; write profiles of the app file",
    "test": "write a task, and run it with `setpoint run`",
    "verify": "write a task, and run it with `setpoint run`",
    "requires": "convert the other file, too, and add it under include",
    "customActions": "write a task, and run it with `setpoint run`",
}
_BUILDERS = ("jib", "bazel", "buildpacks", "ko", "custom", "kaniko")


def convert(file: str, directory: Path, read: Reader, draft: Draft) -> bool:
    """Converts a file of Skaffold. Returns False if the file is invalid."""
    text = read(str(directory / file)) or ""
    try:
        # A file may have several configurations, which Skaffold runs together.
        trees = [tree for tree in yaml.safe_load_all(text) if isinstance(tree, dict)]
        source = typedyaml.read(text, file) if len(trees) == 1 else ParsedFile(None, text, file)
    except (yaml.YAMLError, Mistakes) as error:
        draft.note(f"{file} is not valid YAML and was ignored: {str(error).splitlines()[0]}")
        return False
    draft.record_source(file)
    notes = Notes(source.place if len(trees) == 1 else lambda path: file)
    conversion = _Conversion(directory, read, draft, notes)
    for tree in trees:
        conversion.configuration(Fields(tree, (), notes))
    for note in notes.found:
        draft.note(f"{note.where}: {note.path}: {note.message}")
    return bool(draft.services or draft.tasks)


class _Conversion:
    """The conversion of one file."""

    def __init__(self, directory: Path, read: Reader, draft: Draft, notes: Notes) -> None:
        self._directory, self._read, self._draft, self._notes = directory, read, draft, notes

    def configuration(self, fields: Fields) -> None:
        for word in ("apiVersion", "kind", "metadata"):
            fields.take(word)
        builds = self._builds(fields.inner("build"))
        forwards = self._forwards(fields)
        manifests = self._manifests(fields)
        fields.report_rest(_TOP)
        services = [tree for tree in manifests if tree.get("kind") == "Service"]
        texts = {tree["metadata"]["name"]: tree for tree in manifests if tree.get("kind") in ("ConfigMap", "Secret")}
        for tree in manifests:
            kind, name = str(tree.get("kind")), str((tree.get("metadata") or {}).get("name", ""))
            if kind in (*_SERVICES, *_TASKS):
                self._workload(kind, name, tree, builds, services, forwards, texts)
            elif kind not in ("Service", "ConfigMap", "Secret", "Namespace", "PersistentVolumeClaim"):
                self._draft.note(f"{kind} {name} was not converted; apply it with objects in the app file")

    def _builds(self, build: Fields) -> dict[str, Object]:
        found: dict[str, Object] = {}
        for index, each in enumerate(several(build.take("artifacts"))):
            artifact = build.at(each, "artifacts", index)
            image, context = str(artifact.take("image", "")), str(artifact.take("context", "."))
            docker = artifact.inner("docker")
            made = {
                "context": context,
                "dockerfile": docker.take("dockerfile", ""),
                "target": docker.take("target", ""),
                "args": {key: written(str(value)) for key, value in (docker.take("buildArgs") or {}).items()},
                "network": docker.take("network", ""),
                "cache_from": docker.take("cacheFrom") or [],
                "no_cache": docker.take("noCache") or None,
            }
            other = next((word for word in _BUILDERS if artifact.has(word)), None)
            if other is not None:
                artifact.note(other, f"only Dockerfiles are built; build the image {image} beforehand")
                continue
            sync = artifact.inner("sync")
            rules = [
                {"from": f"{context}/{rule.get('src', '')}", "to": rule.get("dest", "")}
                for rule in several(sync.take("manual"))
                if isinstance(rule, Mapping)
            ]
            watch = [{"sync": [rule]} for rule in rules if "*" not in rule["from"]]
            if len(watch) < len(rules):
                sync.note("manual", "rules with patterns were left out: name directories under watch.sync")
            for part in (docker, sync, artifact):
                part.report_rest()
            found[image] = without_empty({"build": _short_build(without_empty(made)), "watch": watch})
        build.report_rest(
            {
                "local": "images are built by the engine of this machine, and not pushed",
                "tagPolicy": "images have the tag dev",
                "googleCloudBuild": "images are built on this machine",
                "cluster": "images are built on this machine",
            }
        )
        return found

    def _forwards(self, fields: Fields) -> dict[str, dict[int, int]]:
        """Returns the ports of this machine, by resource and port."""
        found: dict[str, dict[int, int]] = {}
        for index, each in enumerate(several(fields.take("portForward"))):
            forward = fields.at(each, "portForward", index)
            name, port = str(forward.take("resourceName", "")), forward.take("port")
            local = forward.take("localPort") or port
            for word in ("resourceType", "namespace"):
                forward.take(word)
            if forward.take("address") not in (None, "127.0.0.1"):
                forward.note("address", "ports listen on localhost; set address of the port")
            if isinstance(port, int) and isinstance(local, int):
                found.setdefault(name, {})[port] = local
            else:
                forward.note("port", "a port by name was left out; write its number under ports")
            forward.report_rest()
        return found

    def _manifests(self, fields: Fields) -> list[Object]:
        manifests, deploy = fields.inner("manifests"), fields.inner("deploy")
        kubectl = deploy.inner("kubectl")
        patterns = [*several(manifests.take("rawYaml")), *several(kubectl.take("manifests"))]
        if not patterns and not manifests.has("kustomize") and not manifests.has("helm") and not deploy.has("helm"):
            patterns = ["k8s/*.yaml"]
        kubectl.report_rest()
        reason = "render the manifests to a file, and name it under manifests.rawYaml"
        manifests.report_rest(dict.fromkeys(("kustomize", "helm", "kpt"), reason))
        deploy.report_rest(dict.fromkeys(("kustomize", "helm", "kpt"), reason))
        return [tree for pattern in patterns for tree in self._read_all(str(pattern))]

    def _read_all(self, pattern: str) -> Iterator[Object]:
        names = [pattern] if "*" not in pattern else self._matching(pattern)
        for name in names:
            text = self._read(str(self._directory / name))
            if text is None:
                self._draft.note(f"{name} was not found")
                continue
            try:
                yield from (tree for tree in yaml.safe_load_all(text) if isinstance(tree, dict))
            except yaml.YAMLError as error:
                self._draft.note(f"{name} is not valid YAML and was ignored: {str(error).splitlines()[0]}")

    def _matching(self, pattern: str) -> list[str]:
        place = self._directory
        found = (str(each.relative_to(place)) for each in sorted(place.rglob("*")) if each.is_file())
        return [name for name in found if fnmatch(name, pattern)]

    def _workload(
        self,
        kind: str,
        name: str,
        tree: Object,
        builds: Mapping[str, Object],
        services: list[Object],
        forwards: Mapping[str, Mapping[int, int]],
        texts: Mapping[str, Object],
    ) -> None:
        spec = tree.get("spec") or {}
        template = ((spec.get("jobTemplate") or {}).get("spec") or spec).get("template") or {}
        pod = spec if kind == "Pod" else template.get("spec") or {}
        labels = ((tree if kind == "Pod" else template).get("metadata") or {}).get("labels") or {}
        containers = pod.get("containers") or []
        if len(containers) != 1 or pod.get("initContainers"):
            self._draft.note(f"{kind} {name} has several containers and was left out: write a service for each")
            return
        [container] = containers
        image = str(container.get("image", ""))
        made: Object = dict(builds.get(image.partition(":")[0]) or builds.get(image) or {"image": image})
        words = [written(str(word)) for word in container.get("command") or ()]
        args = [written(str(word)) for word in container.get("args") or ()]
        made |= without_empty({"entrypoint": words, "args": args, "dir": container.get("workingDir", "")})
        made |= without_empty({"env": self._env(name, container, texts)})
        made |= without_empty({"resources": _resources(container)})
        self._report_pod(kind, name, pod, container)
        if kind in _TASKS:
            schedule = spec.get("schedule", "") if kind == "CronJob" else ""
            self._draft.task(app_name(name), {**made, **({"schedule": schedule} if schedule else {"auto": True})})
            return
        mine = [each for each in services if _selects(each, labels)]
        ports = self._ports(name, container, mine, forwards)
        ready = _probe(container.get("readinessProbe"), ports)
        made |= without_empty({"ports": ports, "ready": ready, "alive": _probe(container.get("livenessProbe"), ports)})
        replicas = spec.get("replicas")
        if replicas not in (None, 1):
            made["replicas"] = replicas
        others = [str(each["metadata"]["name"]) for each in mine if each["metadata"]["name"] != app_name(name)]
        if others:
            made["networks"] = {"default": {"aliases": others}}
        self._draft.service(app_name(name), made)

    def _report_pod(self, kind: str, name: str, pod: Object, container: Object) -> None:
        known = {"name", "image", "command", "args", "workingDir", "env", "envFrom", "ports", "readinessProbe"}
        known |= {"resources", "livenessProbe", "imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy"}
        usual = {"containers", "restartPolicy", "terminationGracePeriodSeconds", "dnsPolicy", "schedulerName"}
        left = [*(key for key in container if key not in known), *(key for key in pod if key not in usual)]
        if left:
            self._draft.note(f"{kind} {name}: {', '.join(left)} was not converted")

    def _env(self, name: str, container: Object, texts: Mapping[str, Object]) -> Object:
        found: Object = {}
        for source in container.get("envFrom") or ():
            reference = source.get("configMapRef") or source.get("secretRef") or {}
            known = texts.get(str(reference.get("name")))
            if known is None:
                self._draft.note(f"{name}: the variables of {reference.get('name')} were not found")
            else:
                found |= {key: written(value) for key, value in _data(known).items()}
        for each in container.get("env") or ():
            if "value" in each or "valueFrom" not in each:
                found[each["name"]] = written(str(each.get("value", "")))
                continue
            reference = each["valueFrom"].get("configMapKeyRef") or each["valueFrom"].get("secretKeyRef") or {}
            value = _data(texts.get(str(reference.get("name"))) or {}).get(str(reference.get("key")))
            if value is None:
                self._draft.note(f"{name}: set the variable {each['name']}, which the cluster supplied")
            else:
                found[each["name"]] = written(value)
                if "secretKeyRef" in each["valueFrom"]:
                    self._draft.note(f"{name}: {each['name']} has the value of a Secret; move the value to .env")
        return found

    @staticmethod
    def _ports(
        name: str, container: Object, services: list[Object], forwards: Mapping[str, Mapping[int, int]]
    ) -> Object:
        numbers: dict[int, str] = {}
        for each in container.get("ports") or ():
            numbers[each["containerPort"]] = str(each.get("name") or "")
        local: dict[int, int] = dict(forwards.get(name) or {})
        by_name = {label: number for number, label in numbers.items() if label}
        for service in services:
            forward = forwards.get(service["metadata"]["name"]) or {}
            for each in (service.get("spec") or {}).get("ports") or ():
                target = each.get("targetPort", each["port"])
                number = by_name.get(target) if isinstance(target, str) else target
                if number is not None:
                    numbers.setdefault(number, str(each.get("name") or ""))
                    if each["port"] in forward:
                        local[number] = forward[each["port"]]
        found: Object = {}
        for number, label in numbers.items():
            key = app_name(label) if label else "http" if not found else f"p{number}"
            found[key if key not in found else f"{key}-{number}"] = (
                f"{local[number]}:{number}" if number in local else number
            )
        return found


def _short_build(build: Object) -> Any:
    return build["context"] if build.keys() == {"context"} else build


def _resources(container: Object) -> Object:
    limits = (container.get("resources") or {}).get("limits") or {}
    return without_empty({"cpus": str(limits.get("cpu", "")), "memory": str(limits.get("memory", ""))})


def _selects(service: Object, labels: Mapping[str, str]) -> bool:
    selector = (service.get("spec") or {}).get("selector") or {}
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def _data(tree: Object) -> dict[str, str]:
    data = {key: str(value) for key, value in (tree.get("data") or {}).items()}
    if tree.get("kind") == "Secret":
        data = {key: base64.b64decode(value).decode("utf-8", "replace") for key, value in data.items()}
        data |= {key: str(value) for key, value in (tree.get("stringData") or {}).items()}
    return data


def _probe(probe: Any, ports: Mapping[str, Any]) -> Object:
    """Returns a probe; the port is the one of the container with its number or name."""
    if not isinstance(probe, Mapping):
        return {}
    made: Object = {}
    target: Any = None
    if http := probe.get("httpGet"):
        made["http"], target = http.get("path") or "/", http.get("port")
    elif tcp := probe.get("tcpSocket"):
        made["tcp"], target = True, tcp.get("port")
    elif grpc := probe.get("grpc"):
        made["grpc"], target = grpc.get("service") or True, grpc.get("port")
    elif execute := probe.get("exec"):
        made["exec"] = [written(str(word)) for word in execute.get("command") or ()]
    if target is not None and len(ports) > 1:
        numbers = {str(value).rpartition(":")[2]: name for name, value in ports.items()}
        made["port"] = numbers.get(str(target), str(target))
    seconds = {"every": "periodSeconds", "timeout": "timeoutSeconds", "delay": "initialDelaySeconds"}
    made |= {name: f"{probe[field]}s" for name, field in seconds.items() if probe.get(field)}
    if probe.get("failureThreshold"):
        made["fail"] = probe["failureThreshold"]
    return made
