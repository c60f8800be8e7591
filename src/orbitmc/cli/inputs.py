"""Read what a command is asked about: a model or a program, evidence, generators."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orbitmc as om
from orbitmc import formats, inference
from orbitmc._util.settings import setting
from orbitmc._util.text import MEMORY, Text, read_text
from orbitmc.cli.session import CLOCK
from orbitmc.errors import InputError, attribute_to_file

if TYPE_CHECKING:
    from orbitmc import Model
    from orbitmc.inference import Evidence
    from orbitmc.inference.program import MarkovLogic


LOGIC_SUFFIXES = (".mln", ".pracmln")


@dataclass(frozen=True)
class LogicOptions:
    """What only programs need: the query, the world, and how to read them."""

    query: str | None = None
    opened: Sequence[str] = setting(
        (), "Predicates of a program whose unlisted atoms are unknown, separated by commas."
    )
    closed: Sequence[str] = setting(
        (), "Predicates of a program whose unlisted atoms are false, separated by commas."
    )
    dialect: Literal["alchemy", "pracmln", "tuffy", "lomrf"] = setting(
        "alchemy", "How a program is written; tuffy is RockIt's too."
    )
    meaning: Literal["formula", "alchemy"] = setting(
        "formula",
        "What a weight counts for: a whole formula, or its clauses as in Alchemy.",
    )
    unweighted: float | None = setting(
        None, "What formulas without weights weigh.", unset="refuse them"
    )
    query_file: str | None = setting(
        None, "A file with an atom or predicate to ask about per line."
    )
    max_groundings: int | None = setting(
        None, "Refuse a program with more groundings.", unset="100 million", least=1
    )


@dataclass(frozen=True)
class ModelInput:
    """What a command is asked about: a model with evidence, or the model of a `program`.

    `names` are the variables of a query. `record` is what a checkpoint needs to ask the same
    again.
    """

    read: "Model | None"
    evidence: "Evidence | None"
    record: Mapping[str, Any]
    names: tuple[str, ...] | None = None
    program: "MarkovLogic | None" = None

    @property
    def plain(self) -> "Model":
        """The model before evidence; that of a program is ground now, if it was not before."""
        if self.program is not None:
            return self.program.model
        assert self.read is not None
        return self.read

    @property
    def source(self) -> "Model | MarkovLogic":
        """Whom to ask."""
        return self.plain if self.program is None else self.program

    @property
    def is_ground(self) -> bool:
        """Whether the model is there; a program that may be counted is ground when it must be."""
        return self.program is None or self.program.is_ground

    @cached_property
    def model(self) -> "Model":
        """The model, given the evidence."""
        return self.plain.given(self.evidence)

    @property
    def remarks(self) -> Sequence[str]:
        """What must be said of how a program was read."""
        return () if self.program is None else self.program.remarks


def as_one(query: Sequence[str] | None) -> str | None:
    """All queries to a program as one."""
    return ";".join(query) if query else None


def is_logic(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz")
    return name.endswith(LOGIC_SUFFIXES) or ".pracmln:" in name


def read_question(
    path: Path,
    pieces: Sequence[str] | None,
    memory: int,
    logic: LogicOptions | None = None,
    query: Sequence[str] | None = None,
) -> ModelInput:
    """Read a model, or a program, with all pieces of evidence; a `query` names its variables."""
    if is_logic(path):
        return logic_question(path, tuple(pieces or ()), memory, logic or LogicOptions())
    if logic is not None and logic != LogicOptions():
        raise InputError(
            f"{_name_option(logic)} belongs to Markov logic programs (.mln, .pracmln)",
            source=str(path),
        )

    with CLOCK.apart():
        model = formats.read(path, memory=memory)
    findings = [formats.read_evidence(piece, model, memory=memory) for piece in pieces or ()]
    seen = formats.merge_evidence(findings, model) if findings else {}
    names = inference.resolve_query(inference.names_in(query, model), model) if query else None
    record = {"model": str(path.resolve()), "evidence": dict(seen)}
    return ModelInput(model, seen, record, names)


def _name_option(logic: LogicOptions) -> str:
    """An option that was set."""
    plain = LogicOptions()
    changed = [name for name in asdict(logic) if getattr(logic, name) != getattr(plain, name)]
    return "--query" if changed[0] == "query" else f"the setting {changed[0]}"


def read_program(
    path: Path, pieces: Sequence[str], memory: int, options: LogicOptions
) -> "MarkovLogic":
    """Read a program and all pieces of evidence, files and atoms."""
    files, texts = split_pieces(pieces)
    return inference.read_logic(
        path,
        files,
        query=options.query,
        query_file=options.query_file,
        evidence=texts,
        opened=options.opened,
        closed=options.closed,
        dialect=options.dialect,
        meaning=options.meaning,
        unweighted=options.unweighted,
        max_groundings=options.max_groundings or om.mln.grounding.MOST_GROUNDINGS,
        memory=memory,
    )


def logic_question(
    path: Path, pieces: Sequence[str], memory: int, options: LogicOptions
) -> ModelInput:
    files, texts = split_pieces(pieces)
    asked = read_program(path, pieces, memory, options)
    file = None if options.query_file is None else str(Path(options.query_file).resolve())
    record = {
        "model": str(path.resolve()),
        "pieces": [*(str(file.resolve()) for file in files), *texts],
        "logic": asdict(replace(options, query_file=file)),
    }
    return ModelInput(None, None, record, program=asked)


def split_pieces(pieces: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Tell files, also several with commas between, from atoms."""
    files: list[Path] = []
    texts: list[str] = []
    for piece in pieces:
        if os.path.exists(piece) or ".pracmln:" in piece:
            files.append(Path(piece))
        elif "(" in piece:
            texts.append(piece)
        elif "=" in piece:
            raise InputError(
                "there is no such file; write an atom as in Smokes(Anna) or !Smokes(Anna)",
                source=piece,
            )
        else:
            files += [Path(part) for part in piece.split(",") if part]
    return files, texts


def read_moves(piece: str | None) -> Mapping[str, Any] | None:
    """Read recorded moves: JSON text, or a file of an answer that holds them."""
    if piece is None:
        return None

    text = Text("--set moves", piece) if piece.lstrip().startswith("{") else read_text(piece)
    parsed = formats.parse_json(text, memory=MEMORY)
    moves = parsed.get("moves", parsed) if isinstance(parsed, dict) else None
    if not isinstance(moves, dict):
        raise InputError(
            "it holds no moves: an object with families and period", source=text.source
        )
    with attribute_to_file(text.source):
        inference.tuning_from_record(moves)
    return moves


def read_generators(pieces: Sequence[str] | None) -> tuple[str, ...]:
    """Give all generators in cycle notation: what begins with a bracket is one, the rest files."""
    generators: list[str] = []
    for piece in pieces or ():
        if piece.lstrip().startswith("("):
            generators.append(piece.strip())
        else:
            generators.extend(_lines(Path(piece)))
    return tuple(generators)


def _lines(path: Path) -> list[str]:
    text = read_text(path)
    lines = [line.strip() for line in text.content.splitlines()]
    wrong = [number for number, line in enumerate(lines, 1) if line and line[0] != "("]
    if wrong:
        raise InputError(
            "expected one generator in each line, as (A B)(C D)", source=str(path), line=wrong[0]
        )
    return [line for line in lines if line]
