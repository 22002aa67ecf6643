"""The pages of the documentation and the fenced blocks in them."""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "saved_models" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "benchmarks").glob("*.md")),
]
_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*) -->\n)?^```(?P<language>\S*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block, and the comment in the line above it ("" if there is none)."""

    page: pathlib.Path
    line: int
    language: str
    text: str
    mark: str

    def __str__(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def commands(self):
        """The lines of a shell block; continued ones are joined."""
        joined = re.sub(r"\\\n\s*", "", self.text)
        return [line for line in joined.splitlines() if line and not line.startswith("#")]


def blocks(page, *languages):
    """The blocks of a page in these languages, from top to bottom."""
    text = page.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        if found["language"] in languages:
            line = text.count("\n", 0, found.start()) + 1
            yield Block(page, line, found["language"], found["text"], found["mark"] or "")


def links(page):
    """The targets of a page that are files, without the part after `#`."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
