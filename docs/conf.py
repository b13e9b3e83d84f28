# SPDX-License-Identifier: BSD-3-Clause
"""The configuration of the documentation site: `python3 noxfile.py site` builds it with Sphinx."""

import __future__

import importlib
import re
import sys
import tomllib
import types
from pathlib import Path

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
]
exclude_patterns = ["field"]
nitpicky = True

# Markdown as on GitHub: anchors of headings, and links to files of the repository.
myst_heading_anchors = 6
myst_links_external_new_tab = False

html_theme = "furo"
html_title = f"dlbridge {release}"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
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
sys.modules[stub.__name__] = stub
del sys.modules["dlbridge"]
