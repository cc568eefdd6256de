"""The worst writes for `bench.loop_gap`: large or hostile bodies, merges, patches, deletions and rules."""

import gzip
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import msgspec

from bench.loop_gap import JSON, YAML, Ask, GapCase

APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ONE = f"{CONFIG_MAPS}/one"
_encode = msgspec.json.encode

Tree = dict[str, Any]


def config_map(name: str = "one", data: Tree | None = None, **metadata: Any) -> Tree:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data or {}}


def pod(name: str = "one", **spec: Any) -> Tree:
    spec = {"containers": [{"name": "main", "image": "image"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def post(path: str, tree: Any) -> Ask:
    return Ask("POST", path, _encode(tree))


def patch(path: str, tree: Any, content_type: str) -> Ask:
    return Ask("PATCH", path, _encode(tree), content_type)


def gap_cases() -> Iterator[GapCase]:
    yield from _owners()
    yield from _managers()
    yield from _yaml()
    yield from _json()
    yield from _patches()
    yield from _kinds()
    yield from _selectors()
    yield from _collections()
    yield from _rules()


def _owners() -> Iterator[GapCase]:
    def references(number: int, uid: str = "u-{}", **more: Any) -> list[Tree]:
        return [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": f"owner-{n}", "uid": uid.format(n), **more}
            for n in range(number)
        ]

    owned = config_map(ownerReferences=references(15_000))
    yield GapCase("create: ownerReferences to absent owners", "15,000", (post(CONFIG_MAPS, owned),))
    shorter = config_map(ownerReferences=references(14_999), finalizers=["example.com/keep"])
    kept = config_map(ownerReferences=references(15_000), finalizers=["example.com/keep"])
    yield GapCase("update: ownerReferences", "15,000", (Ask("PUT", ONE, _encode(shorter)),), (post(CONFIG_MAPS, kept),))
    same = config_map(ownerReferences=references(15_000, uid="same"))
    yield GapCase("create: ownerReferences of one uid", "15,000", (post(CONFIG_MAPS, same),))
    blocking = config_map(ownerReferences=references(12_000, blockOwnerDeletion=True))
    yield GapCase("create: blocking ownerReferences", "12,000", (post(CONFIG_MAPS, blocking),))


def _managers() -> Iterator[GapCase]:
    def entries(number: int, operation: str) -> list[Tree]:
        return [
            {
                "manager": f"manager-{n}",
                "operation": operation,
                "apiVersion": "v1",
                "time": "2026-01-01T00:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:data": {f"f:key-{n}": {}}},
            }
            for n in range(number)
        ]

    data = {f"key-{n}": "x" for n in range(8000)}
    for operation in ("Update", "Apply"):
        managed = config_map(data=data, managedFields=entries(8000, operation))
        yield GapCase(f"create: {operation} managers in the body", "8,000", (post(CONFIG_MAPS, managed),))
        put = Ask("PUT", ONE, _encode(managed))
        yield GapCase(f"update: {operation} managers in the body", "8,000", (put,), (post(CONFIG_MAPS, config_map()),))
    stored = (post(CONFIG_MAPS, config_map(data=data)), Ask("PUT", ONE, _encode(managed)))
    applied = config_map(data={"key-1": "x", "mine": "y"})
    yield GapCase(
        "apply: to an object with many apply managers",
        "8,000",
        (patch(f"{ONE}?fieldManager=me", applied, APPLY), patch(f"{ONE}?fieldManager=me", config_map(), APPLY)),
        stored,
    )
    merge = patch(ONE, {"data": {"key-1": "z"}}, MERGE_PATCH)
    yield GapCase("patch: of an object with many apply managers", "8,000", (merge,), stored)
    conflicts = config_map(data={f"key-{n}": "other" for n in range(8000)})
    yield GapCase(
        "apply: conflicts with many managers", "8,000", (patch(f"{ONE}?fieldManager=me", conflicts, APPLY),), stored
    )
    same = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    fields: Tree = {"f:data": {f"f:{n}": {} for n in range(80_000)}}
    wide = config_map(managedFields=[{**same, "fieldsV1": fields}])
    yield GapCase(
        "update: FieldsV1", "80,000 fields", (Ask("PUT", ONE, _encode(wide)),), (post(CONFIG_MAPS, config_map()),)
    )


def _yaml() -> Iterator[GapCase]:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"

    def case(name: str, size: str, text: str) -> GapCase:
        return GapCase(f"yaml: {name}", size, (Ask("POST", CONFIG_MAPS, (head + text).encode(), YAML),))

    yield case("merge keys", "100,000", "x: &a {k: v}\ndata:\n" + "  <<: *a\n" * 100_000)
    wide = "x: &a {" + ", ".join(f"k{n}: v" for n in range(2000)) + "}\ndata:\n"
    yield case("merge keys of a wide map", "2,000 x 2,000", wide + "  <<: *a\n" * 2000)
    yield case("aliases", "300,000", "x: &a v\ndata: [" + "*a," * 300_000 + "]\n")
    laughs = 'a0: &a0 ["x","x","x","x","x","x","x","x","x","x"]\n'
    for n in range(1, 9):
        laughs += f"a{n}: &a{n} [" + ",".join([f"*a{n - 1}"] * 10) + "]\n"
    yield case("billion laughs", "10^9", laughs)
    yield case("anchors", "150,000", "x:\n" + "".join(f"- &a{n} v\n" for n in range(150_000)))
    yield case("small flow items", "1,000,000", "x: [" + "1," * 1_000_000 + "]\n")
    yield case("nested flow collections", "100,000", "x: " + "[" * 100_000 + "]" * 100_000 + "\n")
    yield case("many keys", "200,000", "data:\n" + "".join(f"  k{n}: v\n" for n in range(200_000)))
    yield case("one long scalar", "3 MB", "data:\n  k: " + "x" * 2_900_000 + "\n")
    yield case("one long quoted scalar of escapes", "3 MB", 'data:\n  k: "' + "\\n" * 1_450_000 + '"\n')
    yield case("documents", "300,000", "---\n" * 300_000)
    yield case("comments", "3 MB", "# x\n" * 700_000)
    yield case("repeated keys", "200,000", "data:\n" + "  k: v\n" * 200_000)
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata:\n"
    text += "".join(f"  k{n}: v\n" for n in range(80_000))
    yield GapCase(
        "apply: YAML with many keys", "80,000", (Ask("PATCH", f"{ONE}?fieldManager=me", text.encode(), APPLY),)
    )


def _json() -> Iterator[GapCase]:
    def case(name: str, size: str, body: bytes) -> GapCase:
        return GapCase(f"json: {name}", size, (Ask("POST", CONFIG_MAPS, body),))

    head = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},'
    yield case("many keys", "90,000", _encode(config_map(data={f"k{n}": "v" for n in range(90_000)})))
    yield case("many keys, spaces", "90,000", _encode(config_map(data={f"k{n}": "v" for n in range(90_000)})) + b" \n")
    spaced = _encode(config_map(data={f"k{n}": "v" for n in range(90_000)})).replace(b":", b": ")
    yield case("many keys, not canonical", "90,000", spaced)
    yield case("repeated keys", "150,000", head + b'"data":{' + b'"k":"v",' * 150_000 + b'"k":"v"}}')
    yield case("unknown field with small items", "1,400,000", head + b'"x":[' + b"1," * 1_400_000 + b"1]}")
    yield case("unknown field with empty objects", "900,000", head + b'"x":[' + b"{}," * 900_000 + b"{}]}")
    yield case("as many empty objects as are read", "390,000", head + b'"x":[' + b"{}," * 390_000 + b"{}]}")
    yield case("unknown fields", "150,000", head + b"".join(b'"x%d":1,' % n for n in range(150_000)) + b'"y":1}')
    yield case("malformed at the end", "3 MB", head + b'"x":[' + b"1," * 1_400_000)
    yield case("long numbers", "120,000", head + b'"x":[' + b"123456789012345678901," * 120_000 + b"1]}")
    one = config_map(data={"key": "x" * 950_000})
    yield case("one long value", "950 kB", _encode(one))
    labels = {f"label-{n}": "v" for n in range(60_000)}
    yield case("labels", "60,000", _encode(config_map(labels=labels)))
    bad = {f"{n}!": "!!" for n in range(60_000)}
    yield case("invalid labels", "60,000", _encode(config_map(labels=bad)))
    yield case("finalizers", "60,000", _encode(config_map(finalizers=[f"example.com/f{n}" for n in range(60_000)])))
    packed = gzip.compress(b" " * 100_000_000)
    ask = Ask("POST", CONFIG_MAPS, packed, JSON, (("Content-Encoding", "gzip"),))
    yield GapCase("gzip bomb as a request body", "100 MB", (ask,))


def _patches() -> Iterator[GapCase]:
    data = {f"k{n}": "v" for n in range(50_000)}
    stored = (post(CONFIG_MAPS, config_map(data=data)),)
    steps = [{"op": "add", "path": f"/data/n{n}", "value": "v"} for n in range(10_000)]
    yield GapCase("json patch: adds", "10,000", (patch(ONE, steps, JSON_PATCH),), stored)
    tests = [{"op": "test", "path": "/data", "value": {"k": "v"}}] * 10_000
    yield GapCase("json patch: tests", "10,000", (patch(ONE, tests, JSON_PATCH),), stored)
    finalizers = [f"example.com/f{n}" for n in range(60_000)]
    listed = (post(CONFIG_MAPS, config_map(finalizers=finalizers)),)
    moves = [{"op": "add", "path": "/metadata/finalizers/0", "value": f"example.com/n{n}"} for n in range(10_000)]
    yield GapCase(
        "json patch: inserts at the front of a list", "10,000 in 60,000", (patch(ONE, moves, JSON_PATCH),), listed
    )
    takes = [{"op": "remove", "path": "/metadata/finalizers/0"}] * 10_000
    yield GapCase(
        "json patch: removes at the front of a list", "10,000 in 60,000", (patch(ONE, takes, JSON_PATCH),), listed
    )
    copies = [{"op": "copy", "from": "/data", "path": f"/c{n}"} for n in range(10_000)]
    yield GapCase("json patch: copies of a large map", "10,000", (patch(ONE, copies, JSON_PATCH),), stored)
    same = [{"op": "test", "path": "/data", "value": data}] * 3
    yield GapCase("json patch: tests of equal large maps", "3 x 50,000", (patch(ONE, same, JSON_PATCH),), stored)
    deep: Any = {}
    for _ in range(200):
        deep = {"a": deep}
    yield GapCase("merge patch: deep", "200", (patch(ONE, {"data": deep}, MERGE_PATCH),), stored)
    wide = {"data": {f"k{n}": None if n % 2 else "w" for n in range(90_000)}}
    yield GapCase("merge patch: wide", "90,000", (patch(ONE, wide, MERGE_PATCH),), stored)
    yield GapCase("strategic merge: wide", "90,000", (patch(ONE, wide, STRATEGIC),), stored)
    volumes = [{"name": f"v{n}", "emptyDir": {}} for n in range(10_000)]
    pods = (post(PODS, pod(volumes=volumes)),)
    added = {"spec": {"volumes": [{"name": f"w{n}", "emptyDir": {}} for n in range(10_000)]}}
    yield GapCase("strategic merge: list by key", "10,000 in 10,000", (patch(f"{PODS}/one", added, STRATEGIC),), pods)
    deleted = {"spec": {"volumes": [{"name": f"v{n}", "$patch": "delete"} for n in range(10_000)]}}
    yield GapCase("strategic merge: deletes by key", "10,000", (patch(f"{PODS}/one", deleted, STRATEGIC),), pods)
    order = {"metadata": {"$setElementOrder/finalizers": finalizers, "finalizers": finalizers}}
    yield GapCase("strategic merge: $setElementOrder", "60,000", (patch(ONE, order, STRATEGIC),), listed)
    gone = {"metadata": {"$deleteFromPrimitiveList/finalizers": finalizers}}
    yield GapCase("strategic merge: $deleteFromPrimitiveList", "60,000", (patch(ONE, gone, STRATEGIC),), listed)
    ports: list[Tree] = [{"name": f"p{n}", "port": n % 60_000 + 1, "protocol": "TCP"} for n in range(10_000)]
    service: Tree = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "one"},
        "spec": {"type": "ExternalName", "externalName": "x.example.com", "ports": ports},
    }
    ask = patch(f"{SERVICES}/one?fieldManager=me", service, APPLY)
    yield GapCase("apply: list keyed by two keys", "10,000", (ask,))
    other = {**service, "spec": {**service["spec"], "ports": [{**each, "port": each["port"] + 1} for each in ports]}}
    again = patch(f"{SERVICES}/one?fieldManager=you&force=true", other, APPLY)
    yield GapCase("apply: again, list keyed by two keys", "10,000", (again,), (ask,))
    large = config_map(data={f"k{n}": "v" for n in range(60_000)})
    less = config_map(data={f"k{n}": "v" for n in range(0, 60_000, 2)})
    me = f"{ONE}?fieldManager=me"
    yield GapCase("apply: large, then fewer fields", "60,000", (patch(me, large, APPLY), patch(me, less, APPLY)))


def _kinds() -> Iterator[GapCase]:
    def case(name: str, number: int, path: str, tree: Tree) -> GapCase:
        return GapCase(f"create: {name}", f"{number:,}", (post(path, tree),))

    containers = [{"name": f"c{n}", "image": "i"} for n in range(10_000)]
    yield case("Pod with containers", 10_000, PODS, pod(containers=containers))
    same = [{"name": "c", "image": "i"}] * 10_000
    yield case("Pod with equal containers", 10_000, PODS, pod(containers=same))
    env = [{"name": f"E{n}", "value": "$(A)$(B)" * 4} for n in range(20_000)]
    yield case("Pod with env", 20_000, PODS, pod(containers=[{"name": "c", "image": "i", "env": env}]))
    ports = [{"containerPort": n % 60_000 + 1, "hostPort": n % 60_000 + 1} for n in range(20_000)]
    yield case("Pod with host ports", 20_000, PODS, pod(containers=[{"name": "c", "image": "i", "ports": ports}]))
    mounts = [{"name": f"v{n}", "mountPath": f"/m{n}"} for n in range(10_000)]
    volumes = [{"name": f"v{n}", "emptyDir": {}} for n in range(10_000)]
    mounted = pod(volumes=volumes, containers=[{"name": "c", "image": "i", "volumeMounts": mounts}])
    yield case("Pod with volumes and mounts", 10_000, PODS, mounted)
    tolerations = [{"key": f"k{n}", "operator": "Exists"} for n in range(20_000)]
    yield case("Pod with tolerations", 20_000, PODS, pod(tolerations=tolerations))
    spread = [
        {"maxSkew": 1, "topologyKey": f"t{n}", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
        for n in range(10_000)
    ]
    yield case("Pod with topologySpreadConstraints", 10_000, PODS, pod(topologySpreadConstraints=spread))
    terms = [{"matchExpressions": [{"key": f"k{n}", "operator": "Exists"}]} for n in range(10_000)]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    yield case("Pod with node selector terms", 10_000, PODS, pod(affinity=affinity))
    service_ports = [{"name": f"p{n}", "port": n + 1} for n in range(15_000)]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": service_ports}}
    yield case("Service with ports", 15_000, SERVICES, service)
    addresses = [{"ip": f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}"} for n in range(30_000)]
    endpoints = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "e"},
        "subsets": [{"addresses": addresses, "ports": [{"port": 80}]}],
    }
    yield case("Endpoints with addresses", 30_000, "/api/v1/namespaces/default/endpoints", endpoints)
    rules = [
        {
            "host": f"h{n}.example.com",
            "http": {
                "paths": [
                    {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}
                ]
            },
        }
        for n in range(8000)
    ]
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "i"},
        "spec": {"rules": rules},
    }
    yield case("Ingress with rules", 8000, "/apis/networking.k8s.io/v1/namespaces/default/ingresses", ingress)
    hooks = [
        {
            "name": f"h{n}.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Ignore",
            "timeoutSeconds": 1,
            "rules": [{"apiGroups": ["none"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["none"]}],
        }
        for n in range(8000)
    ]
    webhooks = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "w"},
        "webhooks": hooks,
    }
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    yield GapCase("create: webhooks, then a write", "8,000", (post(path, webhooks), post(CONFIG_MAPS, config_map())))
    limits = [{"type": "Container", "max": {f"example.com/r{n}": "1"}} for n in range(10_000)]
    limit_range = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": limits}}
    yield case("LimitRange with limits", 10_000, "/api/v1/namespaces/default/limitranges", limit_range)
    hard = {f"count/things.g{n}.example.com": "1" for n in range(30_000)}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}
    yield case("ResourceQuota with resources", 30_000, "/api/v1/namespaces/default/resourcequotas", quota)


def _selectors() -> Iterator[GapCase]:
    made = tuple(post(CONFIG_MAPS, config_map(f"c-{n}", labels={"app": f"a{n}"})) for n in range(200))

    def case(name: str, size: str, query: str) -> GapCase:
        return GapCase(f"list: {name}", size, (Ask("GET", f"{CONFIG_MAPS}?{query}"),), made)

    values = ",".join(f"v{n}" for n in range(10_000))
    yield case("label selector with values", "10,000", f"labelSelector={quote(f'app in ({values})')}")
    terms = ",".join(f"k{n}!=v" for n in range(8000))
    yield case("label selector with terms", "8,000", f"labelSelector={quote(terms)}")
    fields = ",".join(["metadata.name!=x"] * 4000)
    yield case("field selector with terms", "4,000", f"fieldSelector={quote(fields)}")
    yield case("query parameters", "20,000", "&".join(f"a{n}=1" for n in range(10_000)))


def _collections() -> Iterator[GapCase]:
    many = tuple(post(CONFIG_MAPS, config_map(f"c-{n}")) for n in range(3000))
    yield GapCase("deletecollection", "3,000", (Ask("DELETE", CONFIG_MAPS),), many)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "busy"}}
    there = "/api/v1/namespaces/busy/configmaps"
    filled = (post("/api/v1/namespaces", space), *(post(there, config_map(f"c-{n}")) for n in range(3000)))
    yield GapCase("namespace deletion", "3,000", (Ask("DELETE", "/api/v1/namespaces/busy"),), filled)
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"configmaps": "9"}},
    }
    yield GapCase(
        "create: ResourceQuota over objects", "3,000", (post("/api/v1/namespaces/default/resourcequotas", quota),), many
    )
    owner = (post(CONFIG_MAPS, config_map()),)
    large = (post(CONFIG_MAPS, config_map(data={f"k{n}": "v" for n in range(60_000)})), *owner[:0])
    change = patch(ONE, {"data": {f"n{n}": "w" for n in range(30_000)}}, MERGE_PATCH)
    history = Ask("GET", "/apis/setpoint.dev/v1/namespaces/default/configmaps/one/history")
    yield GapCase("history of a large object", "60,000 keys", (history,), (*large, change))


def _rules() -> Iterator[GapCase]:
    rules = [{"apiGroups": [f"g{n}"], "resources": [f"r{n}"], "verbs": ["get", "list"]} for n in range(15_000)]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "big"},
        "rules": rules,
    }
    names: Tree = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    reference: Tree = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "big"}
    subject: Tree = {"kind": "User", "name": "tenant", "apiGroup": "rbac.authorization.k8s.io"}
    binding: Tree = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "big"},
        "roleRef": reference,
        "subjects": [subject],
    }
    make = {
        **names,
        "metadata": {"name": "makers"},
        "rules": [
            {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"], "verbs": ["create", "update", "get"]},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get", "list"]},
        ],
    }
    makers = {**binding, "metadata": {"name": "makers"}, "roleRef": {**reference, "name": "makers"}}
    who = (("Impersonate-User", "tenant"),)
    before = (
        post(f"{RBAC}/clusterroles", role),
        post(f"{RBAC}/clusterrolebindings", binding),
        post(f"{RBAC}/clusterroles", make),
        post(f"{RBAC}/clusterrolebindings", makers),
    )
    yield GapCase("create: ClusterRole with rules", "15,000", (post(f"{RBAC}/clusterroles", role),))
    copy = {**role, "metadata": {"name": "copy"}}
    yield GapCase(
        "escalation: role with rules by a holder of them",
        "15,000",
        (Ask("POST", f"{RBAC}/clusterroles", _encode(copy), JSON, who),),
        before,
    )
    other = {**role, "metadata": {"name": "other"}, "rules": [{**each, "verbs": ["delete"]} for each in rules]}
    yield GapCase(
        "escalation: role with rules that the user lacks",
        "15,000",
        (Ask("POST", f"{RBAC}/clusterroles", _encode(other), JSON, who),),
        before,
    )
    wide = {
        **role,
        "metadata": {"name": "wide"},
        "rules": [
            {
                "apiGroups": [f"g{n}" for n in range(300)],
                "resources": [f"r{n}" for n in range(300)],
                "verbs": ["get", "list"],
            }
        ],
    }
    yield GapCase(
        "escalation: one rule with many groups and resources",
        "300 x 300",
        (Ask("POST", f"{RBAC}/clusterroles", _encode(wide), JSON, who),),
        before,
    )
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "default"},
    }
    ask = Ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", _encode(review), JSON, who)
    yield GapCase("SelfSubjectRulesReview", "15,000 rules", (ask,), before)
    yield GapCase("get by a user with many rules", "15,000 rules", (Ask("GET", CONFIG_MAPS, headers=who),), before)
    parts = tuple(
        post(
            f"{RBAC}/clusterroles",
            {**names, "metadata": {"name": f"part-{n}", "labels": {"to": "sum"}}, "rules": rules[n * 10 : n * 10 + 10]},
        )
        for n in range(500)
    )
    total = {
        **names,
        "metadata": {"name": "sum"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"to": "sum"}}]},
        "rules": [],
    }
    one = post(
        f"{RBAC}/clusterroles", {**names, "metadata": {"name": "more", "labels": {"to": "sum"}}, "rules": rules[:10]}
    )
    yield GapCase("aggregation of ClusterRoles", "500", (post(f"{RBAC}/clusterroles", total), one), parts)
    subjects = [{**subject, "name": f"user-{n}"} for n in range(30_000)]
    yield GapCase(
        "create: ClusterRoleBinding with subjects",
        "30,000",
        (post(f"{RBAC}/clusterrolebindings", {**binding, "metadata": {"name": "wide"}, "subjects": subjects}),),
        before[:1],
    )
