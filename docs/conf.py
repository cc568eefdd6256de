"""The configuration of the documentation site, which `make docs` builds into `build/site`.

The pages are plain Markdown that can also be read in the repository, so the order of the pages is defined here and not
in the pages. A page that is missing from the order, a broken link or a broken anchor fails the build.
"""

from sphinx.application import Sphinx

project = "Setpoint"
extensions = ["myst_parser"]
myst_heading_anchors = 4  # the same anchors as on GitHub
html_theme = "furo"
html_title = "Setpoint"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_use_index = False
html_domain_indices = False
html_show_copyright = False
show_warning_types = True
exclude_patterns = ["site"]
# Editors load the schema from its address, so it is served under its plain name.
html_extra_path = ["setpoint.schema.json"]

NAVIGATION = {
    "index": {
        "Begin": ["quick-start", "app-file", "commands", "why", "dashboard", "telemetry", "mcp", "troubleshooting"],
        "Coming from": ["from-compose", "from-procfile", "from-skaffold", "from-tilt", "from-aspire"],
        "Controllers": [
            "controllers",
            "controllers-in-apps",
            "cookbook",
            "state-machines",
            "generating-handlers",
            "handler-chains",
            "apply-sets",
            "relations",
            "client",
            "what-is-sent",
            "caches",
            "testing",
            "other-languages",
            "common-mistakes",
            "options",
            "envtest",
            "from-kopf",
            "from-controller-runtime",
        ],
        "The platform": [
            "serve",
            "consistency",
            "access",
            "security",
            "configuration",
            "nodes",
            "workloads",
            "dcp",
            "aspire",
            "versioning",
        ],
        "The project": [
            "glossary",
            "architecture",
            "coverage",
            "suites",
            "decisions/README",
        ],
    },
    "decisions/README": {"": ["[0-9]*"]},
}


def with_navigation(app: Sphinx, page: str, source: list[str]) -> None:
    """Adds a hidden table of contents to a page that has pages below it; the sidebar shows the table."""
    for caption, below in NAVIGATION.get(page, {}).items():
        entries = "\n".join(entry if "/" in entry or "*" in entry else f"/{entry}" for entry in below)
        named = f":caption: {caption}\n" if caption else ""
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n{named}\n{entries}\n```\n"


def setup(app: Sphinx) -> None:
    app.connect("source-read", with_navigation)
