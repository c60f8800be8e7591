"""Marginals of programs whose cells are sampled: open pairs are summed out and never ground."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from orbitmc import lifted
from orbitmc._util.arrays import Bytes, Floats, Numbers
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.estimate.answers import Estimate, Joint, certain
from orbitmc.estimate.features import sums_by_column, worst_verdict
from orbitmc.estimate.marginals import (
    About,
    Columns,
    Marginals,
    certain_columns,
    concatenate_columns,
)
from orbitmc.estimate.verdicts import (
    BELIEVED,
    CODE,
    EXACT,
    FAIR_R_HAT,
    OBSERVED,
    RARE,
    SEVEREST,
    UNMIXED,
)
from orbitmc.inference.answer import run_chains, summarise_run
from orbitmc.inference.counting import (
    MOST_JOINT_ATOMS,
    AskedAtoms,
    find_atoms,
    read_events,
    where,
)
from orbitmc.inference.feature_sampling import NOBODY, sample_feature
from orbitmc.inference.lift import CLUSTERS
from orbitmc.inference.plan import (
    Plan,
    asked_at,
    fit_to_budget,
    require_memory,
    sampling_bytes,
    seconds_spent,
)
from orbitmc.inference.program import TRUTH
from orbitmc.inference.query import TRUTHS, View
from orbitmc.kernels._alternation import Alternation, alternation
from orbitmc.kernels._count_gibbs import cell_swaps
from orbitmc.kernels._mixture import PAPER_WEIGHT
from orbitmc.lifted.cells import PairField
from orbitmc.lifted.evidence import Field
from orbitmc.lifted.marginals import normalise, proposition_weights
from orbitmc.mln import grounding
from orbitmc.mln.data.database import TRUE, UNKNOWN
from orbitmc.symmetry.clustering import clusters_of_vectors

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from orbitmc.estimate.features import Features
    from orbitmc.graph.evidence import Evidence
    from orbitmc.inference.cache import CachedElimination
    from orbitmc.inference.program import MarkovLogic
    from orbitmc.inference.settings import Settings
    from orbitmc.kernels.protocol import Kernel
    from orbitmc.mln.data.database import Ints
    from orbitmc.sampling.checkpoint import Checkpoint
    from orbitmc.sampling.run import RunObserver

MOST_PAIRS = 10_000  # atoms of pairs that may be asked about


def add_swaps(chain: lifted.CellChain, *, clusters: int, alpha: float) -> Alternation | None:
    """The chain with jumps that exchange cells of constants; None if no sort has two of them.

    After each sweep come so many jumps that the base chain has the share `alpha` of all steps.
    """
    classes = [part for part in _cell_classes(chain, clusters) if len(part) > 1]
    if not classes:
        return None
    variables = len(chain.sort)
    pairs = max(1, round(variables * (1.0 - alpha) / alpha))
    return alternation(
        chain.kernel, cell_swaps(chain.kernel, classes, pairs=pairs), period=variables
    )


def _cell_classes(chain: lifted.CellChain, clusters: int) -> Iterator[Ints]:
    """All constants of a sort, and those of it with about the same odds in the mean field.

    Those that are alike are exchanged most often; what ties classes together needs the others.
    """
    for sort in range(len(chain.cells)):
        members = np.flatnonzero(chain.sort == sort)
        odds = np.log(chain.kernel.modes[0][members] + 1.0 / max(1, len(members)))
        labels = clusters_of_vectors(odds, clusters)
        yield members
        if labels.max(initial=0) > 0:
            yield from (members[labels == label] for label in np.unique(labels).tolist())


def cells_view(program: MarkovLogic) -> View:
    """The cells of a program's constants, as a model to sample; refused if it has none."""
    chain = program.source.cells
    if isinstance(chain, str):
        raise InputError(f"the cells of this program cannot be sampled: {chain}")

    def find(name: str) -> None:
        raise InputError(f"{name!r} is not a cell")

    return View(chain.model, chain.model.names, find)  # type: ignore[arg-type]


@dataclass(frozen=True)
class CellQuestion:
    """A question about atoms that samples of the cells of constants answer."""

    program: MarkovLogic
    can_resume = False
    scopes = None
    needs = None

    @property
    def chain(self) -> lifted.CellChain:
        chain = self.program.source.cells
        assert not isinstance(chain, str)
        return chain

    def from_cache(
        self, row: CachedElimination, evidence: Evidence | None, settings: Settings
    ) -> None:
        return None

    def plan(self, settings: Settings) -> Plan:
        settings.require_use()
        settings.schedule()  # refuses two ends
        begun, model = asked_at(settings), self.chain.model
        kernel, jumps = self._kernel(settings)
        if settings.estimator == "control-variates" or self.chain.kernel.forbidden.any():
            settings = replace(settings, estimator="rao-blackwell")
        settings = fit_to_budget(model.graph, settings)
        require_memory(sampling_bytes(model.graph, settings), settings)
        return Plan(
            model,
            settings,
            self._reason() + jumps,
            kernel=kernel,
            seconds=seconds_spent(settings),
            ruled_out=("exact", *({"lmh"} - {settings.method}), "lifted", "mcsat"),
            begun=begun,
        )

    def resumed(self, saved: Checkpoint, settings: Settings) -> Plan:
        """Go on with a run that was kept."""
        reason = f"a run resumed from {saved.path.name}"
        kernel, jumps = self._kernel(settings)
        return Plan(
            self.chain.model,
            settings,
            f"{reason}; {self._reason()}{jumps}",
            kernel=kernel,
            checkpoint=saved,
        )

    def _kernel(self, settings: Settings) -> tuple[Kernel, str]:
        """The chain of cells, with jumps if these are asked for, and what to say of them."""
        if settings.method != "lmh":
            return self.chain.kernel, ""
        clusters = CLUSTERS if settings.clusters is None else settings.clusters
        alpha = PAPER_WEIGHT if settings.alpha is None else settings.alpha
        kernel = add_swaps(self.chain, clusters=clusters, alpha=alpha)
        if kernel is None:
            return self.chain.kernel, "; no type has two such constants, so there are no jumps"
        classes = len(kernel.jump.start) - 1
        words = "" if classes == 1 else f" of one of {classes} classes"
        return kernel, f"; jumps exchange the cells of two constants{words}"

    def _reason(self) -> str:
        chain, source = self.chain, self.program.source
        pairs = len(chain.kernel.partner) // 2
        words = (
            f"cells of {len(chain.sort):,} constants with {pairs:,} observed pairs instead of "
            f"{source.unknown_atoms:,} atoms"
        )
        if (copies := len(chain.kernel.bias) - 1) > 0:
            words += f"; {copies} copies with flattened counts lead from mode to mode"
        if chain.left_out:
            gaps = ", ".join(f"{gap:,.0f}" for gap in chain.left_out)
            words += f"; other modes are {gaps} nats below the largest"
        return words

    def about_sure(self) -> About:
        """What to say of an answer that no chain is needed for."""
        reason = "evidence decides the cells of their constants"
        return About("exact", reason, warnings=self.program.doubts)

    def _warnings(self, cells: Marginals) -> tuple[str, ...]:
        warnings = [*self.program.doubts, *cells.about.warnings]
        if self.chain.modes > 1 and not cells.converged:
            far = self.chain.far
            walk = f"; from one to another they take {far:,} sweeps or more" if far else ""
            warnings.append(
                f"the cells have {self.chain.modes} modes, and chains start at all of them: if "
                f"they do not cross between modes, nobody knows how probable each is{walk}"
            )
        return tuple(warnings)


class CellMarginals(CellQuestion):
    """How probable atoms are."""

    can_resume = True

    def from_elimination(self, plan: Plan) -> Marginals:
        raise AssertionError("cells are sampled")

    def from_chains(self, plan: Plan, observers: Iterable[RunObserver]) -> Marginals:
        asked = AskedAtoms(self.program)
        readers = [_Reader(self.chain, *entry) for entry in asked.codes]
        pairs = [pair for reader in readers for pair in reader.pairs()]
        if len(pairs) > MOST_PAIRS:
            raise LimitError(
                f"the query asks about {len(pairs):,} pairs of constants, the limit is "
                f"{MOST_PAIRS:,}; name fewer"
            )
        saved = plan.checkpoint is not None or plan.settings.checkpoint is not None
        if pairs and saved:
            raise InputError("a checkpoint keeps no pairs of constants: ask about others")
        features: Features | None = None
        if pairs:
            feature = _PairAtoms(pairs)
            everything = range(len(plan.model.names))
            estimate = sample_feature(
                cells_view(self.program), plan, feature, observers, lambda: everything
            )
            cells, features = estimate.marginals, estimate.features()
        else:
            run, chosen = run_chains(plan, observers, None)
            cells = summarise_run(run, plan, chosen)
        if self.chain.modes > 1:
            cells = _doubt_rare(cells)
        columns, first = [], 0
        for reader in readers:
            columns.append(reader.columns(cells.columns, features, first))
            first += len(list(reader.pairs()))
        warnings = list(self._warnings(cells))
        if asked.left_out:
            words = ", ".join(asked.left_out)
            warnings.append(f"name atoms of {words} to see them: they are too many")
        about = replace(cells.about, method=plan.settings.method, warnings=tuple(warnings))
        return Marginals(concatenate_columns(columns), about)


def _doubt_rare(cells: Marginals) -> Marginals:
    """Doubt rare cells that columns disagree on: chains that start at a small mode make them so."""
    columns = cells.columns
    if not len(columns.verdict):
        return cells
    r_hat = np.maximum.reduceat(columns.r_hat, columns.start[:-1])
    verdict = columns.verdict.copy()
    verdict[(verdict == CODE[RARE]) & (r_hat > FAIR_R_HAT)] = CODE[UNMIXED]
    return replace(cells, columns=replace(columns, verdict=verdict))


@dataclass(frozen=True)
class CellJoint(CellQuestion):
    """How probable the joint truth values of a few ground atoms are."""

    names: Sequence[str]

    def from_elimination(self, plan: Plan) -> Joint:
        raise AssertionError("cells are sampled")

    def from_chains(self, plan: Plan, observers: Iterable[RunObserver]) -> Joint:
        atoms, texts = find_atoms(self.program, self.names)
        law = _AtomLaw(self.chain, atoms, np.eye(2 ** _require_few(atoms)))
        shape = (2,) * len(atoms)
        if not len(law.variables):
            table = law.sure.reshape(shape)
            none, values = np.zeros(shape), (TRUTHS,) * len(atoms)
            about = self.about_sure()
            return Joint(texts, values, table, none, table, table, none > 0, EXACT, about)
        noted = sample_feature(cells_view(self.program), plan, law, observers)
        estimates = noted.features()
        about = replace(
            noted.about, method=plan.settings.method, warnings=self._warnings(noted.marginals)
        )
        return Joint(
            names=texts,
            values=(TRUTHS,) * len(atoms),
            probability=estimates.probability.reshape(shape),
            standard_error=estimates.standard_error.reshape(shape),
            low=estimates.low.reshape(shape),
            high=estimates.high.reshape(shape),
            rare=estimates.rare.reshape(shape),
            verdict=worst_verdict(estimates.verdict(), noted.verdicts),
            about=about,
        )


@dataclass(frozen=True)
class CellProbability(CellQuestion):
    """How probable an event about a few ground atoms is, given another one."""

    event: str
    given: str | None

    def from_elimination(self, plan: Plan) -> Estimate:
        raise AssertionError("cells are sampled")

    def from_chains(self, plan: Plan, observers: Iterable[RunObserver]) -> Estimate:
        atoms, wanted, condition = read_events(self.program, self.event, self.given)
        _require_few(atoms)
        holds = where(condition, len(atoms)).reshape(-1)
        both = holds * where(wanted, len(atoms)).reshape(-1)
        rows = np.stack([both] if self.given is None else [both, holds])
        law = _AtomLaw(self.chain, atoms, rows)
        if not (law.possible & (holds > 0)).any():
            raise ContradictionError("what is given is impossible")
        if not len(law.variables):
            share = law.sure[0] / (1.0 if self.given is None else law.sure[1])
            return certain(float(share), self.about_sure())
        noted = sample_feature(cells_view(self.program), plan, law, observers)
        estimates = noted.features() if self.given is None else noted.ratio()
        about = replace(
            noted.about, method=plan.settings.method, warnings=self._warnings(noted.marginals)
        )
        return Estimate(
            value=float(estimates.probability[0]),
            standard_error=float(estimates.standard_error[0]),
            low=float(estimates.low[0]),
            high=float(estimates.high[0]),
            verdict=worst_verdict(estimates.verdict(), noted.verdicts),
            about=about,
        )


def _require_few(atoms: Sequence[tuple[str, int]]) -> int:
    if len(atoms) > MOST_JOINT_ATOMS:
        raise LimitError(
            f"{len(atoms)} atoms have too many joint values for samples of cells, which take "
            f"{MOST_JOINT_ATOMS}; ask about fewer"
        )
    return len(atoms)


@dataclass(frozen=True)
class _Pair:
    """An atom of two constants: its variables or sure cells, and its chance in each two cells."""

    variables: tuple[int, int]
    sure: tuple[int, int]
    chances: Floats


class _PairAtoms:
    """Chances of atoms of pairs, given the cells of their constants."""

    averaged = NOBODY

    def __init__(self, pairs: Sequence[_Pair]) -> None:
        self.pairs, self.rows = pairs, len(pairs)
        both = {variable for pair in pairs for variable in pair.variables if variable >= 0}
        self.variables: Numbers = np.array(sorted(both), dtype=np.int64)
        self.place = {variable: place for place, variable in enumerate(self.variables.tolist())}

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        return np.array([sums_by_column(self._chance(pair, states)) for pair in self.pairs])

    def _chance(self, pair: _Pair, states: Bytes) -> Floats:
        cells = [
            states[self.place[variable]] if variable >= 0 else np.full(states.shape[1], sure)
            for variable, sure in zip(pair.variables, pair.sure, strict=True)
        ]
        return np.asarray(pair.chances[cells[0], cells[1]])

    def errors(self, means: Floats) -> Floats:
        return np.asarray(means.std(axis=1, ddof=1) / np.sqrt(means.shape[1]))


class _Unit(NamedTuple):
    """Atoms that depend on the same constants: how probable their truth values are, by cells.

    `law` has an axis for the cell of each constant, and one for the truth values of all atoms, the
    last one fastest. A constant is a variable, or its cell is sure.
    """

    atoms: tuple[int, ...]
    variables: tuple[int, ...]
    sure: tuple[int, ...]
    law: Floats


class _AtomLaw:
    """Sums of rows over the joint law of atoms, given the cells of all their constants."""

    averaged = NOBODY

    def __init__(
        self, chain: lifted.CellChain, atoms: Sequence[tuple[str, int]], rows: Floats
    ) -> None:
        self.weights, self.rows = rows, len(rows)
        self.units = _units(chain, atoms)
        used = {variable for unit in self.units for variable in unit.variables if variable >= 0}
        self.variables: Numbers = np.array(sorted(used), dtype=np.int64)
        self.place = {variable: place for place, variable in enumerate(self.variables.tolist())}
        order = [atom for unit in self.units for atom in unit.atoms]
        shape = (2,) * len(atoms)
        places = np.arange(2 ** len(atoms)).reshape(shape).transpose(np.argsort(order))
        self.order = places.reshape(-1)

    @property
    def sure(self) -> Floats:
        """The rows' sums where no constant has a choice."""
        return np.asarray(self._rows(np.zeros((0, 1), np.uint8))[:, 0])

    @property
    def possible(self) -> NDArray[np.bool_]:
        """The joint truth values that some cells allow, if each unit may have any of its own."""
        found = np.ones(1, dtype=np.bool_)
        for unit in self.units:
            ends = zip(unit.variables, unit.sure, strict=True)
            cells = tuple(slice(None) if variable >= 0 else sure for variable, sure in ends)
            part = unit.law[cells].reshape(-1, unit.law.shape[-1]).any(axis=0)
            found = (found[:, None] & part).reshape(-1)
        return found[self.order]

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        return np.array([sums_by_column(row) for row in self._rows(states)])

    def _rows(self, states: Bytes) -> Floats:
        law = np.ones((1, states.shape[1]))
        for unit in self.units:
            cells = tuple(
                states[self.place[variable]] if variable >= 0 else np.full(states.shape[1], sure)
                for variable, sure in zip(unit.variables, unit.sure, strict=True)
            )
            part = unit.law[cells].reshape(-1, unit.law.shape[-1]).T
            law = (law[:, None] * part[None]).reshape(-1, states.shape[1])
        return np.asarray(self.weights @ law[self.order])

    def errors(self, means: Floats) -> Floats:
        return np.asarray(means.std(axis=1, ddof=1) / np.sqrt(means.shape[1]))


def _units(chain: lifted.CellChain, atoms: Sequence[tuple[str, int]]) -> list[_Unit]:
    """Atoms by the constants that they depend on, and by what rules tie together."""
    readers = [_Reader(chain, predicate, np.array([code])) for predicate, code in atoms]
    groups: dict[Hashable, list[int]] = {}
    for number, reader in enumerate(readers):
        groups.setdefault(reader.unit(number), []).append(number)
    return [_unit(chain, [readers[n] for n in numbers], numbers) for numbers in groups.values()]


def _unit(chain: lifted.CellChain, readers: Sequence[_Reader], numbers: Sequence[int]) -> _Unit:
    ends, law, holds = readers[0].law()
    truth = [holds] + [reader.law()[2] for reader in readers[1:]]
    code = sum(one.astype(np.int64) << (len(truth) - 1 - n) for n, one in enumerate(truth))
    together = np.stack(
        [np.where(code == value, law, 0.0).sum(axis=-1) for value in range(2 ** len(truth))],
        axis=-1,
    )
    return _Unit(
        tuple(numbers),
        tuple(int(chain.variable_of[s][a]) for s, a in ends),
        tuple(int(chain.sure[s][a]) for s, a in ends),
        together,
    )


class _Reader:
    """Turns cells into atoms of one predicate."""

    def __init__(self, chain: lifted.CellChain, predicate: str, codes: Ints) -> None:
        self.chain, self.predicate, self.codes = chain, predicate, codes
        fragment = chain.fragment
        self.atoms, self.schema = fragment.atoms[predicate], fragment.schemas[predicate]
        columns = self.atoms.arguments(codes, fragment.universe)
        types = fragment.program.predicates[predicate].types
        self.status = self.atoms.status(codes)
        self.value = codes % self.atoms.width if self.schema.values else np.ones_like(codes)
        self.keys = [columns[place] for place in self.schema.written]
        self.sorts, self.places = [], []
        for place in self.schema.elements:
            sort = fragment.sort_of[types[place]][columns[place]]
            member = np.zeros_like(sort)
            for number in np.unique(sort).tolist():
                here = sort == number
                member[here] = np.searchsorted(fragment.sorts[number].members, columns[place][here])
            self.sorts.append(sort)
            self.places.append(member)
        self.is_pair = np.zeros(len(codes), np.bool_)
        if len(self.sorts) == 2:
            self.is_pair = (self.sorts[0] != self.sorts[1]) | (self.places[0] != self.places[1])

    @property
    def names(self) -> list[str]:
        return grounding.atom_names(self.atoms, self.codes, self.chain.fragment.universe)

    def _field(self, atom: int) -> Field:
        return Field(self.predicate, tuple(int(key[atom]) for key in self.keys))

    def pairs(self) -> Iterator[_Pair]:
        """Atoms of pairs that are not known."""
        chain = self.chain
        for atom in np.flatnonzero(self.is_pair & (self.status == UNKNOWN)).tolist():
            ends = [
                (int(s[atom]), int(p[atom])) for s, p in zip(self.sorts, self.places, strict=True)
            ]
            forward = ends[0] < ends[1]
            (s, a), (t, b) = ends if forward else ends[::-1]
            place = PairField(self._field(atom), forward)
            law = chain.pair_chances(s, t, place, a, b)[:, :, int(self.value[atom])]
            yield _Pair(
                (int(chain.variable_of[s][a]), int(chain.variable_of[t][b])),
                (int(chain.sure[s][a]), int(chain.sure[t][b])),
                law,
            )

    def unit(self, number: int) -> Hashable:
        """What one atom shares with all others that are not independent of it, given cells."""
        if self.status[0] != UNKNOWN:
            return number
        ends = [(int(s[0]), int(p[0])) for s, p in zip(self.sorts, self.places, strict=True)]
        field = self._field(0)
        if not self.is_pair[0]:
            if not ends:
                return field
            parts = self.chain.cells[ends[0][0]].summed
            part = next((n for n, part in enumerate(parts) if field in part.fields), -1)
            return ends[0], part
        (s, a), (t, b) = sorted(ends)
        tables = self.chain.tables[s, t]
        place = PairField(field, ends[0] < ends[1])
        return s, a, t, b, next(n for n, table in enumerate(tables) if place in table.fields)

    def law(self) -> tuple[list[tuple[int, int]], Floats, NDArray[np.bool_]]:
        """Its constants, the law of all that it is tied to, by their cells, and where it holds."""
        chain, field, value = self.chain, self._field(0), int(self.value[0])
        if self.status[0] != UNKNOWN:
            return [], np.ones(1), self.status == TRUE
        ends = [(int(s[0]), int(p[0])) for s, p in zip(self.sorts, self.places, strict=True)]
        if not ends:
            law = normalise(proposition_weights(chain.known[field]))
            return [], law, np.arange(len(law)) == value
        if not self.is_pair[0]:
            sort, member = ends[0]
            cells = chain.cells[sort]
            if field in cells.fields:
                column = cells.values[:, cells.fields.index(field)]
                return ends[:1], np.ones((len(column), 1)), (column == value)[:, None]
            part = next(part for part in cells.summed if field in part.fields)
            kind = cells.evidence.kind_of[[member]]
            law = normalise(cells.joint(part, kind)[0])
            return ends[:1], law, part.values[:, part.fields.index(field)] == value
        place = PairField(field, ends[0] < ends[1])
        (s, a), (t, b) = sorted(ends)
        law, table = chain.pair_law(s, t, place, a, b)
        return [(s, a), (t, b)], law, table.values[:, table.fields.index(place)] == value

    def columns(self, cells: Columns, features: Features | None, first: int) -> Columns:
        """All atoms: known ones, those of one constant, and those of pairs from `first` on."""
        known = np.flatnonzero(self.status != UNKNOWN)
        unknown = self.status == UNKNOWN
        names = np.array(self.names, dtype=object)
        holds = (self.status[known] == TRUE).astype(np.float64)
        parts = [_certain(names[known], holds, OBSERVED)]
        order = [known]
        single = np.flatnonzero(unknown & ~self.is_pair)
        for rows, columns in self._single_columns(cells, names, single):
            parts.append(columns)
            order.append(rows)
        pairs = np.flatnonzero(unknown & self.is_pair)
        if len(pairs):
            assert features is not None
            parts.append(self._pair_columns(cells, features, names[pairs], first, len(pairs)))
            order.append(pairs)
        together = concatenate_columns(parts)
        return together.take(np.argsort(np.concatenate(order)))

    def _single_columns(
        self, cells: Columns, names: NDArray[Any], rows: Ints
    ) -> Iterator[tuple[Ints, Columns]]:
        """Atoms of one constant each, or of none."""
        chain = self.chain
        if not self.sorts:
            chances = np.array([self._proposition(atom) for atom in rows.tolist()])
            yield rows, _certain(names[rows], chances, EXACT)
            return
        for field, same in self._fields(rows):
            for sort in np.unique(self.sorts[0][same]).tolist():
                some = same[self.sorts[0][same] == sort]
                places = self.places[0][some]
                chances = chain.field_chances(sort, field, self.value[some], places)
                variable = chain.variable_of[sort][places]
                fixed = variable < 0
                sure = chances[fixed, chain.sure[sort][places[fixed]]]
                yield some[fixed], _certain(names[some[fixed]], sure, EXACT)
                yield (
                    some[~fixed],
                    _combine(cells, names[some[~fixed]], variable[~fixed], chances[~fixed]),
                )

    def _fields(self, rows: Ints) -> Iterator[tuple[Field, Ints]]:
        """Atoms of one field each."""
        if not self.keys:
            yield Field(self.predicate, ()), rows
            return
        unique, which = np.unique(np.array(self.keys).T[rows], axis=0, return_inverse=True)
        for number, key in enumerate(unique.tolist()):
            yield Field(self.predicate, tuple(key)), rows[which.reshape(-1) == number]

    def _proposition(self, atom: int) -> float:
        law = normalise(proposition_weights(self.chain.known[self._field(atom)]))
        return float(law[self.value[atom]])

    def _pair_columns(
        self, cells: Columns, features: Features, names: NDArray[Any], first: int, count: int
    ) -> Columns:
        rows = slice(first, first + count)
        verdicts = [features.row(number).verdict() for number in range(first, first + count)]
        worst = _worst(cells)
        codes = [CODE[worst if v in BELIEVED and worst else v] for v in verdicts]
        return Columns(
            names.tolist(),
            [TRUTH] * count,
            np.arange(count + 1),
            features.probability[rows],
            features.standard_error[rows],
            features.low[rows],
            features.high[rows],
            features.ess[rows],
            features.r_hat[rows],
            features.rare[rows],
            np.array(codes, dtype=np.uint8),
            np.zeros(count, dtype=np.int64),
        )


def _worst(cells: Columns) -> str:
    """The severest verdict on cells that is not to be believed; nothing if all are."""
    doubted = [v for v in cells.counts() if v not in BELIEVED]
    return min(doubted, key=SEVEREST.index) if doubted else ""


def _certain(names: NDArray[Any], chances: Floats, verdict: str) -> Columns:
    return certain_columns(names.tolist(), [TRUTH] * len(names), chances, verdict)


def _combine(cells: Columns, names: NDArray[Any], variable: Ints, chances: Floats) -> Columns:
    """Atoms that hold with some chance in each cell of a constant.

    A sum of probabilities has no larger error than theirs together; what is the same in all cells
    adds none.
    """
    size = chances.shape[1]
    rows = cells.start[variable][:, None] + np.arange(size)
    p = cells.probability[rows]
    probability = (p * chances).sum(axis=1)

    def spread(widths: Floats) -> Floats:
        bounds = [
            (np.abs(chances - chances[:, [base]]) * widths).sum(axis=1) for base in range(size)
        ]
        return np.asarray(np.min(bounds, axis=0))

    half = spread(np.maximum(p - cells.low[rows], cells.high[rows] - p))
    return Columns(
        names.tolist(),
        [TRUTH] * len(names),
        np.arange(len(names) + 1),
        probability,
        spread(cells.standard_error[rows]),
        np.maximum(probability - half, 0.0),
        np.minimum(probability + half, 1.0),
        cells.ess[rows].min(axis=1),
        cells.r_hat[rows].max(axis=1),
        cells.rare[rows].any(axis=1),
        cells.verdict[variable],
        cells.part[variable],
    )
