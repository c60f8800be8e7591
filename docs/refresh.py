"""Run the console blocks of the README and of docs/, and write what they print into the pages."""

import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.pages import CONSOLE, blocks, commands, enter, pages, printed_by  # found by that line


def refreshed(block: str) -> str:
    new = ""
    for command, shown in commands(block):
        printed = printed_by(command)
        before, cut, after = shown.partition("…\n")
        if cut:
            lines = printed.splitlines(keepends=True)
            last = len(lines) - len(after.splitlines())
            printed = "".join([*lines[: len(before.splitlines())], cut, *lines[last:]])
        new += f"$ {command}\n{printed}"
    return new


def refresh(page: Path) -> None:
    text, names = page.read_text(), {}
    for language, block in blocks(page):
        if language == CONSOLE:
            text = text.replace(block, refreshed(block))
        else:
            exec(compile(block, str(page), "exec"), names)
    page.write_text(re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE))


def main() -> None:
    for page in pages():
        with tempfile.TemporaryDirectory() as folder:
            enter(Path(folder))
            refresh(page)


if __name__ == "__main__":
    main()
