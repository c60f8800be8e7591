"""Lines that begin with #: what they say about the statement after them, and includes."""

import re
from dataclasses import dataclass

from orbitmc._util.text import suggestion
from orbitmc.logic.language.notation import Dialect
from orbitmc.logic.language.scanner import Statement

DIRECTIVE = re.compile(r"#\s*(?P<word>\w*)\s*(?P<rest>.*)", re.DOTALL)
UNIQUE = re.compile(r"\{\s*(\+?\s*\??\w+(?:\s*,\s*\+?\s*\??\w+)+)\s*\}")
QUOTED_NAME = re.compile(r'"(?P<name>[^"\n]+)"|<(?P<packed>[^>\n]+)>')
PRACMLN = {"fixweight", "group", "unique", "fuzzy", "fixUnitClause", "AdaptiveMLNDependency"}
IGNORED = {"group", "AdaptiveMLNDependency"}


@dataclass
class Ahead:
    """What directives say about the next statement."""

    fixed: bool = False
    fuzzy: Statement | None = None
    unique: tuple[str, ...] = ()


def directive(statement: Statement, dialect: Dialect, ahead: Ahead) -> str:
    """Take a directive in; give a remark, or nothing. Includes are not for here."""
    found = DIRECTIVE.match(statement.text)
    assert found
    word = found["word"]
    if dialect != "pracmln" and word in PRACMLN:
        raise statement.error(0, f"#{word} is pracmln's; see dialect pracmln")
    if word in IGNORED:
        return f"#{word} is ignored"
    if word.lower() == "fixweight":
        ahead.fixed = True
    elif word == "fuzzy":
        ahead.fuzzy = statement
    elif word == "unique":
        ahead.unique = _unique(statement.after(found.start("rest")))
    else:
        near = suggestion(word, ["include", *sorted(PRACMLN)])
        raise statement.error(0, f"#{word} is not supported{near}")
    return ""


def _unique(statement: Statement) -> tuple[str, ...]:
    found = UNIQUE.fullmatch(statement.text)
    if not found:
        raise statement.error(0, "expected variables of the next formula, as in #unique{+?x,+?y}")
    return tuple(word.strip().lstrip("+").strip() for word in found[1].split(","))


def included(statement: Statement) -> tuple[str, bool] | None:
    """Give the file that a statement includes, and whether it is in the project; None if none."""
    found = DIRECTIVE.match(statement.text)
    if not found or found["word"] != "include":
        return None
    rest = statement.after(found.start("rest"))
    named = QUOTED_NAME.fullmatch(rest.text)
    if not named:
        raise rest.error(0, 'expected the name of a file, as in #include "file.mln"')
    name = named["name"] or named["packed"]
    if name.endswith((".cpp", ".cc", ".h")):
        raise rest.error(0, "functions in C++ are not supported; nothing is executed")
    if re.search(r"\.db(\.gz)?$", name):
        raise rest.error(0, "a database is no part of a program; give it as evidence")
    return name, named["packed"] is not None
