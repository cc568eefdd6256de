"""The modules of the page without a browser: layouts, differences and models, run by Node."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from setpoint.objects.tree import Object
from setpoint.past.secret_mask import masked

TESTS = Path(__file__).parent / "page"
# Earlier versions take the modules of the page, which have the suffix .js, for CommonJS.
OLDEST = (20, 19)


@pytest.fixture(scope="module")
def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < OLDEST:
        pytest.skip(f"node {version.strip()} is too old: these tests need {'.'.join(map(str, OLDEST))}")
    return found


@pytest.mark.parametrize("name", sorted(path.name for path in TESTS.glob("*.test.mjs")))
def test_the_modules_behave_as_their_tests_state(node: str, name: str) -> None:
    done = subprocess.run([node, "--test-reporter=tap", str(TESTS / name)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.findall(r"^# pass (\d+)", done.stdout, re.M)[0]) > 0


def test_the_page_masks_the_same_values_as_the_commands(node: str) -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_-1"
    objects: list[Object] = [
        {"kind": "Secret", "data": {"a": "eA=="}, "stringData": {"b": "y"}, "metadata": {"name": "s"}},
        {"kind": "Pod", "spec": {"env": [{"name": "DB_PASSWORD", "value": "x"}, {"name": "A", "value": "b"}]}},
        {"kind": "Executable", "status": {"effectiveEnv": [{"name": "signing-key", "value": "x"}]}},
        {"kind": "ConfigMap", "data": {"url": "postgres://user:pass@host/db", "token": "shown", "u": "http://host:80"}},
        {"kind": "Event", "message": f"sent {token} to http://:p@host", "count": 1},
        {"kind": "A", "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}},
    ]
    module = (TESTS.parents[2] / "src/setpoint/dashboard/page/past/secret_mask.js").as_uri()
    program = (
        f"import {{masked}} from {json.dumps(module)};console.log(JSON.stringify({json.dumps(objects)}.map(masked)))"
    )
    done = subprocess.run([node, "--input-type=module", "-e", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [masked(each) for each in objects]
