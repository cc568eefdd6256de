"""The examples of the page about other languages run, each with the tools of its language."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, ROOT, blocks

# Build programs with other projects' clients.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

SECONDS = 1200
FILES = {block.file: block.body for block in blocks(DOCS / "other-languages.md") if block.file}
# Builds are kept between runs: compiling a client takes minutes.
BUILDS = ROOT / "build" / "languages"
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId><artifactId>example</artifactId><version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>{client}</dependency>
    <dependency>
      <groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><version>5.13.4</version>
    </dependency>
  </dependencies>
  <build><plugins>
    <plugin><artifactId>maven-surefire-plugin</artifactId><version>3.5.4</version></plugin>
  </plugins></build>
</project>
"""
JAVA = {
    "fabric8": "<groupId>io.fabric8</groupId><artifactId>kubernetes-client</artifactId><version>7.5.2</version>",
    "official": "<groupId>io.kubernetes</groupId><artifactId>client-java</artifactId><version>25.0.0</version>",
}
CARGO = """[package]
name = "example"
version = "0.0.0"
edition = "2024"

[dependencies]
k8s-openapi = { version = "0.28", features = ["latest"] }
kube = "4.2"
serde_json = "1"
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
"""


def project(name: str, *tools: str) -> Path:
    """Writes the files of one language, and returns their directory. Skips the test without the tools."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    for file, body in FILES.items():
        if file.startswith(f"{name}/"):
            path = BUILDS / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body)
    return BUILDS / name


def prepare(directory: Path, *command: str) -> None:
    """Fetches dependencies and builds. Skips the test if the registry of the language does not answer."""
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        pytest.skip(f"`{' '.join(command)}` failed, without a server: {(done.stdout + done.stderr)[-500:]}")


def run(directory: Path, *command: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "setpoint", "serve", "--", *command],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, **environment},
    )
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed
    return printed


def test_go() -> None:
    directory = project("go", "go")
    for name in ("go.mod", "go.sum"):
        shutil.copy(ROOT / "tests" / "clients" / "go" / name, directory / name)
    prepare(directory, "go", "test", "-c", "-o", "example.test", ".")
    assert "PASS: TestConfigMap" in run(directory, "go", "test", "-v", "-count=1", "./...")


def test_javascript() -> None:
    directory = project("javascript", "node", "npm")
    prepare(directory, "npm", "install", "--no-audit", "--no-fund", "@kubernetes/client-node@1")
    assert "# pass 1" in run(directory, "node", "--test", "--test-reporter=tap")


@pytest.mark.parametrize("name", JAVA)
def test_java(name: str) -> None:
    directory = project(name, "java", "mvn")
    (directory / "pom.xml").write_text(POM.format(client=JAVA[name]))
    prepare(directory, "mvn", "--batch-mode", "--quiet", "test-compile")
    assert "Tests run: 1, Failures: 0, Errors: 0" in run(directory, "mvn", "--batch-mode", "test")


def test_rust() -> None:
    directory = project("rust", "cargo")
    (directory / "Cargo.toml").write_text(CARGO)
    (directory / "src").mkdir(exist_ok=True)
    (directory / "src" / "lib.rs").write_text("")
    prepare(directory, "cargo", "test", "--quiet", "--no-run")
    assert "a_config_map_is_stored ... ok" in run(directory, "cargo", "test")
