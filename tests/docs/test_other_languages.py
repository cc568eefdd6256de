"""The examples of the page about other languages run, each with the tools of its language."""

import pytest
from tests.docs.language_projects import fetch, project, require_compiled, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

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
    <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.14.1</version></plugin>
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


def test_javascript() -> None:
    directory = project("javascript", "node", "npm")
    fetch(directory, "npm", "install", "--no-audit", "--no-fund", "@kubernetes/client-node@1")
    assert "# pass 1" in run(directory, "node", "--test", "--test-reporter=tap")


@pytest.mark.parametrize("name", JAVA)
def test_java(name: str) -> None:
    directory = project(name, "java", "mvn")
    (directory / "pom.xml").write_text(POM.format(client=JAVA[name]))
    fetch(directory, "mvn", "--batch-mode", "--quiet", "dependency:resolve")
    assert "Tests run: 1, Failures: 0, Errors: 0" in run(directory, "mvn", "--batch-mode", "test")


def test_rust() -> None:
    directory = project("rust", "cargo")
    require_compiled(directory / "target")
    (directory / "Cargo.toml").write_text(CARGO)
    (directory / "src").mkdir(exist_ok=True)
    (directory / "src" / "lib.rs").write_text("")
    fetch(directory, "cargo", "fetch")
    assert "a_config_map_is_stored ... ok" in run(directory, "cargo", "test")
