"""Settings of the documentation: `sphinx-build -W -c docs . build/site`.

The source is the whole checkout, not only docs/, so that links to the README and to benchmarks/
work both on the site and in the repository.
"""

import importlib
import importlib.metadata
import pathlib
import sys
from typing import Any

from sphinx.addnodes import pending_xref
from sphinx.util import inspect

ROOT = pathlib.Path(__file__).parent.parent
# `datasets`, `saved_models` and `trainers` are rooms of the checkout, not installed.
sys.path.insert(0, str(ROOT))

project = "QuatRE-TF"
version = release = importlib.metadata.version("quatre-tf")
html_title = f"QuatRE-TF {release}"

root_doc = "docs/index"
include_patterns = ["docs/**", "benchmarks/*.md", "saved_models/*.md", "*.md"]
# Also what is not to be searched for pages.
exclude_patterns = [".*", "runs", "data", "build", "**/__pycache__", "saved_models/exports"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
# Docstrings write code between single backticks.
default_role = "code"
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
maximum_signature_line_length = 140

html_theme = "furo"
html_copy_source = False
html_show_copyright = False
# A page at the root of the site that leads to docs/index.html.
html_extra_path = ["_root"]


def mark_code(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Makes indented paragraphs of docstrings literal, as in Markdown: Sphinx wants "::"."""
    before = ["", *lines[:-1]]
    for place in reversed(range(1, len(lines))):
        above = next((line for line in reversed(lines[:place]) if line), "")
        if lines[place].startswith("    ") and not before[place] and not above.startswith(" "):
            lines[place:place] = ["::", ""]


def constructor_signature(app: Any, what: str, name: str, thing: Any, *rest: Any) -> Any:
    """Takes the signature of a class from `__init__`: the `__new__` of Keras has none."""
    if what != "class":
        return None
    signature = inspect.signature(thing.__init__, bound_method=True)
    return inspect.stringify_signature(
        signature, show_return_annotation=False, unqualified_typehints=True
    ), ""


def keep_text_of_folders(app: Any, doctree: Any) -> None:
    """Turns links to folders, which have no page on the site, into their text."""
    here = pathlib.Path(app.env.doc2path(app.env.docname)).parent
    for link in list(doctree.findall(pending_xref)):
        if (here / link["reftarget"]).is_dir():
            link.replace_self(link.children)


def show_docstrings(app: Any, name: str, source: list[str]) -> None:
    """Replaces the signatures on the pages of the API by the full docstrings."""
    api_stubs = importlib.import_module("docs.api_stubs")
    source[0] = api_stubs.BLOCK.sub(lambda found: api_stubs.directives(found["names"]), source[0])


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", show_docstrings)
    # Before napoleon, which turns the sections "Args:" and so on into indented text.
    app.connect("autodoc-process-docstring", mark_code, priority=400)
    app.connect("autodoc-process-signature", constructor_signature)
    app.connect("doctree-read", keep_text_of_folders)
