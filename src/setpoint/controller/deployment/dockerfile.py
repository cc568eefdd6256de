"""The Dockerfile of an operator's image."""

from collections.abc import Sequence

# Not copied into the image.
IGNORED = """.git
.venv*
**/__pycache__
**/*.pyc
.pytest_cache
.mypy_cache
.ruff_cache
"""


def dockerfile(modules: Sequence[str], *, python: str, requirements: str, setpoint: str) -> str:
    """Returns a Dockerfile. `requirements` is the path of the file with the requirements; `pyproject.toml` installs the
    project itself, and without a file only Setpoint is installed. `setpoint` is the requirement of Setpoint."""
    if requirements == "pyproject.toml":
        install = f"COPY . .\nRUN pip install --no-cache-dir '{setpoint}' ."
    elif requirements:
        install = (
            f"COPY {requirements} {requirements}\n"
            f"RUN pip install --no-cache-dir '{setpoint}' -r {requirements}\nCOPY . ."
        )
    else:
        install = f"RUN pip install --no-cache-dir '{setpoint}'\nCOPY . ."
    arguments = ", ".join(f'"{each}"' for each in ("controllers", "run", *modules))
    return (
        f"FROM python:{python}-slim\n"
        "\n"
        "# Containers print each line at once, and write no compiled files into a read-only file system.\n"
        "ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1\n"
        "WORKDIR /app\n"
        f"{install}\n"
        "\n"
        "# A user without a name and without rights; Kubernetes checks that the number is not 0.\n"
        "USER 65532:65532\n"
        'ENTRYPOINT ["setpoint"]\n'
        f"CMD [{arguments}]\n"
    )
