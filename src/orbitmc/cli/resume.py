"""`orbitmc resume`: go on with a run as if it had never stopped.

What a kept run says of its question is checked, because anybody may have written it.
"""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from orbitmc._util import files as records
from orbitmc._util.files import owned
from orbitmc._util.text import MEMORY
from orbitmc.cli.session import options
from orbitmc.cli.session.answers import deliver, require_output
from orbitmc.cli.session.exits import verb
from orbitmc.cli.session.help import QUESTION
from orbitmc.cli.session.options import argument, option
from orbitmc.cli.session.questions import LogicOptions, Question, logic_question
from orbitmc.cli.session.settable import assigned
from orbitmc.errors import InputError, said_of

MODEL_HELP = "Where the model is now."

LOGIC: Mapping[str, records.Check] = {
    "query": records.or_none(records.is_text),
    "opened": records.list_of(records.is_text),
    "closed": records.list_of(records.is_text),
    "dialect": records.is_text,
    "meaning": records.is_text,
    "unweighted": records.or_none(records.is_number),
    "query_file": records.or_none(records.is_text),
    "max_groundings": records.or_none(records.is_positive),
}


@verb
def resume(
    run: Annotated[Path, argument("RUN", "What `infer --checkpoint` wrote.")],
    model: Annotated[
        Path | None,
        option("--model", QUESTION, MODEL_HELP, metavar="MODEL", shown="where it was"),
    ] = None,
    more: options.More = None,
    memory: options.Memory = MEMORY,
    cluster: options.Cluster = None,
    json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    help_all: options.HelpAll = False,
) -> int:
    """Go on with a run, bit for bit as if it had never stopped."""
    require_output(output)
    given = assigned("resume", more)
    from orbitmc.cli.session.sampling import Session
    from orbitmc.inference._resume import go_on, kept_query, kept_settings
    from orbitmc.sampling.checkpoint import load

    with owned(run):
        kept = load(run, memory=memory)
        kept_settings(kept.question, str(run))  # refuses what cannot go on before a model is read
        again = ask_again(kept.question, model, memory, str(run))
        names = None if again.ground is not None else kept_query(kept, again.model)
        with Session(quiet, run, given.get("checkpoint_every"), kept.question) as session:
            found = go_on(
                kept,
                again.model,
                again.ground,
                threads=given.get("threads"),
                executor=cluster,
                memory=memory,
                watchers=session.watchers,
            )
        found = again.in_words(found.only(names))
        code = deliver(found, json=json, output=output, quiet=quiet)
        return code or session.exit_code


def ask_again(record: Mapping[str, Any], moved: Path | None, memory: int, source: str) -> Question:
    """Read the question of a run once more, from its record."""
    path = Path(moved or _model(record, source))
    if "logic" in record:
        with said_of(source, records.CANNOT_GO_ON):
            pieces = _evidence(record.get("pieces"), records.list_of(records.is_text))
            options = LogicOptions(**records.checked(record["logic"], LOGIC, "question"))
        return logic_question(path, tuple(pieces), memory, options)
    with said_of(source, records.CANNOT_GO_ON):
        evidence = _evidence(record.get("evidence"), _are_seen)
    from orbitmc.formats.registry import read

    return Question(read(path, memory=memory).given(evidence), record)


def _model(record: Mapping[str, Any], source: str) -> str:
    path = record.get("model")
    if not isinstance(path, str):
        raise InputError("this run does not say which model it belongs to", source=source)
    if not os.path.exists(re.sub(r"(\.pracmln):.*", r"\1", path)):
        raise InputError(
            f"its model is no longer at {path}; say --model where it is now", source=source
        )
    return path


def _evidence(found: Any, check: records.Check) -> Any:
    if not check(found):
        raise InputError("its evidence is not what it should be")
    return found


def _are_seen(found: object) -> bool:
    """A value, or weights of values, for each variable."""
    return isinstance(found, dict) and all(map(_is_seen, found.values()))


def _is_seen(found: object) -> bool:
    if isinstance(found, dict):
        return all(map(_is_weight, found.values()))
    return records.is_text(found) or records.is_count(found) or records.list_of(_is_weight)(found)


def _is_weight(found: object) -> bool:
    return type(found) in (int, float) and 0 <= found <= sys.float_info.max  # type: ignore[operator]
