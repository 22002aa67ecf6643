"""Writes the signatures in docs/api/*.md from the code: `python -m docs.api_stubs`.

A comment `<!-- api: MODULE.NAME .METHOD ... -->` says what the block below it shows. On the site,
the full docstrings replace the block (docs/conf.py).
"""

import importlib
import inspect
import pathlib
import re
from collections.abc import Iterator
from typing import Any

API = pathlib.Path(__file__).parent / "api"
BLOCK = re.compile(
    r"^<!-- api: (?P<names>[^\n]*) -->\n```text\n(?P<text>.*?)^```$", re.DOTALL | re.M
)


def directives(names: str) -> str:
    """Returns the Sphinx directives of the names in a comment."""
    lines = []
    for name, members in _grouped(names):
        kind = _kind(_find(name))
        lines.append(f".. auto{kind}:: {name}")
        lines += [f"   :members: {', '.join(members)}"] * bool(members) + [""]
    return "\n".join(["```{eval-rst}", *lines, "```"])


def render(page: str) -> str:
    """Returns a page with its blocks made anew."""
    return BLOCK.sub(
        lambda found: f"<!-- api: {found['names']} -->\n```text\n{_stubs(found['names'])}\n```",
        page,
    )


def _grouped(names: str) -> Iterator[tuple[str, list[str]]]:
    for group in re.split(r" (?!\.)", names):
        name, *members = group.split(" .")
        yield name, members


def _find(name: str) -> Any:
    module, attribute = name.rsplit(".", 1)
    return getattr(importlib.import_module(module), attribute)


def _kind(found: Any) -> str:
    if not inspect.isclass(found):
        return "function"
    return "exception" if issubclass(found, Exception) else "class"


def _stubs(names: str) -> str:
    stubs = []
    for name, members in _grouped(names):
        found = _find(name)
        stubs.append(_stub(name, found))
        stubs += [_stub(f".{member}", inspect.getattr_static(found, member)) for member in members]
    return "\n".join(stubs)


def _stub(name: str, found: Any) -> str:
    summary = (inspect.getdoc(found) or "").split("\n\n")[0].replace("\n", " ")
    return f"{name}{_signature(found)}\n    # {summary}"


def _signature(found: Any) -> str:
    if isinstance(found, property) or not callable(getattr(found, "__func__", found)):
        return ""
    call = found.__init__ if inspect.isclass(found) else getattr(found, "__func__", found)
    if not inspect.isfunction(inspect.unwrap(call)):
        return ""  # The constructor of a built-in exception.
    texts = []
    for parameter in inspect.signature(call).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in texts:
            texts.append("*")
        texts.append(_parameter(parameter))
    text = ", ".join(text for text in texts if text not in ("self", "cls"))
    return f"({text if len(text) < 300 else '...'})"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    name = stars.get(parameter.kind, "") + parameter.name
    if parameter.default is inspect.Parameter.empty:
        return name
    default = repr(parameter.default)
    return f"{name}={'...' if '<' in default or len(default) > 30 else default}"


def main() -> None:
    """Rewrites the pages."""
    for page in sorted(API.glob("*.md")):
        page.write_text(render(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
