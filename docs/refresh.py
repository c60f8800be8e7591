"""Run the console blocks of the README and of docs/, and write what they print into the pages."""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.pages import (  # found by that line
    CONSOLE,
    OUTPUT,
    blocks,
    commands,
    enter,
    pages,
    printed_by,
    run_python,
)


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
    """Write what the blocks of a page print into it, and the pictures they draw beside it."""
    text, names, printed = page.read_text(), {}, ""
    for language, block in blocks(page):
        if language == CONSOLE:
            text = text.replace(block, refreshed(block), 1)
        elif language == OUTPUT:
            text = text.replace(f"```{OUTPUT}\n{block}```", f"```{OUTPUT}\n{printed}```", 1)
        else:
            printed = run_python(block, str(page), names)
    page.write_text(re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE))
    for picture in Path.cwd().glob("*.svg"):
        shutil.copy(picture, page.parent)


def main() -> None:
    """Refresh all pages, or those that are named."""
    wanted = {Path(name).resolve() for name in sys.argv[1:]}
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # pictures without a date
    for page in pages():
        if wanted and page.resolve() not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            enter(Path(folder))
            refresh(page)


if __name__ == "__main__":
    main()
