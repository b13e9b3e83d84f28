# SPDX-License-Identifier: BSD-3-Clause
"""The configuration of the documentation site: `python3 noxfile.py site` builds it with Sphinx."""

import __future__

import importlib
import re
import sys
import types
from pathlib import Path

import tomllib
from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parent
CHECKOUT = DOCS.parent
sys.path[:0] = [str(DOCS / "site"), str(CHECKOUT / "python")]

project = "dlbridge"
author = "the authors of dlbridge"
copyright = author
abi = (CHECKOUT / "include/dlbridge/abi.hpp").read_text()
release = version = ".".join(re.findall(r"define DLBRIDGE_VERSION_\w+ (\d+)", abi))
repository = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["urls"]["Source"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "cpp_reference",
    "repository_links",
    "names_in_text",
]
exclude_patterns = ["field"]
nitpicky = True
nitpick_ignore_regex = [  # signatures also name internals, other libraries and template arguments
    ("cpp:identifier", r".*(detail|on_pybind11|<).*|(std|pybind11|nanobind|xt)\b.*|(Py|DL|kDL)\w+"),
    ("cpp:identifier", r"tensor_argument_base|load_options|explanation|element_refusal|event_pool"),
    ("cpp:identifier", r"driver_source|driver_result|owner_type::span_type"),
    ("py:class", r"(?!dlbridge\.).*|dlbridge\._core\..*|dlbridge\.typing\.SupportsArrow\w+"),
]

python_maximum_signature_line_length = 76

# Markdown as on GitHub: anchors of headings, and links to files of the repository.
myst_heading_anchors = 6
myst_links_external_new_tab = False

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = f"dlbridge {release}"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_favicon = "site/static/favicon.svg"
html_search_scorer = str(DOCS / "site" / "search.js")
html_copy_source = False
html_show_sphinx = False
templates_path = []

breathe_default_project = "dlbridge"
breathe_show_include = False

# autodoc reads the stub of the compiled module, which has its signatures and docstrings.
importlib.import_module("dlbridge.typing")  # the stub imports it; this needs no compiled module
stub = types.ModuleType("dlbridge._core")
stub.__file__ = str(CHECKOUT / "python/dlbridge/_core.pyi")
annotations = __future__.annotations.compiler_flag  # a class may name itself
exec(compile(Path(stub.__file__).read_text(), stub.__file__, "exec", annotations), vars(stub))
vars(stub).update(dict.fromkeys(stub.__annotations__))  # of attributes without a value
sys.modules[stub.__name__] = stub
del sys.modules["dlbridge"]


SUMMARIES: dict[str, list[str]] = {}


def store_summary(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    SUMMARIES[name] = [*lines]


def restore_summary(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Napoleon reads a colon in the first line of an attribute or property as the end of a type."""
    if any(line.startswith(":type:") for line in lines):
        lines[:] = SUMMARIES[name]


# Tables of results, which have every word that a reader may search for.
UNSEARCHED = re.compile(r"generated/(?!defects)|reference/changelog")


def leave_out_of_search(app: Sphinx, doctree: object) -> None:
    if UNSEARCHED.match(app.env.docname):
        app.env.metadata[app.env.docname]["nosearch"] = True


DESCRIPTION = (
    "dlbridge passes tensors between NumPy, PyTorch, JAX, TensorFlow and C++ arrays through DLPack,"
    " without a copy: tutorials, how-to guides, explanation and reference."
)


def describe(app: Sphinx, page: str, template: str, context: dict[str, str], tree: object) -> None:
    if page == app.config.root_doc:
        context["metatags"] += f'<meta name="description" content="{DESCRIPTION}">'


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", describe)
    app.connect("autodoc-process-docstring", store_summary, priority=400)
    app.connect("autodoc-process-docstring", restore_summary, priority=600)
    app.connect("doctree-read", leave_out_of_search)
