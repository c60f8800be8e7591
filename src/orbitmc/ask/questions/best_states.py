"""The answer to a question for the best states."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, overload

from orbitmc._util.loading import Displayed, extra
from orbitmc._util.text import suggestion
from orbitmc.estimate.marginals import About
from orbitmc.estimate.text import plain_table, printable

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_VARIABLES = 40  # variables that are printed
MOST_COLUMNS = 6  # states that are printed


@dataclass(frozen=True)
class BestState(Mapping[str, str]):
    """A value for each variable, by name, and the logarithm of the state's weight.

    The weight is not normalised: the probability is exp(log_weight - log Z).
    """

    chosen: Mapping[str, str]
    log_weight: float

    def __getitem__(self, name: str) -> str:
        if name not in self.chosen:
            raise KeyError(f"there is no variable {name!r}{suggestion(str(name), self.chosen)}")
        return self.chosen[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.chosen)

    def __len__(self) -> int:
        return len(self.chosen)


@dataclass(frozen=True, repr=False)
class BestStates(Displayed, Sequence[BestState]):
    """States, heaviest first.

    If `proven`, no other state is heavier than any of them. No state at all has a log-weight above
    `bound`.
    """

    states: tuple[BestState, ...]
    proven: bool
    bound: float
    about: About = field(default_factory=lambda: About("", ""))

    @overload
    def __getitem__(self, place: int) -> BestState: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[BestState, ...]: ...

    def __getitem__(self, place: int | slice) -> BestState | tuple[BestState, ...]:
        return self.states[place]

    def __len__(self) -> int:
        return len(self.states)

    def verdict(self) -> str:
        """What is known of these states, in words."""
        if self.proven:
            return "proven"
        gap = self.bound - self.states[0].log_weight
        return f"best found; none is more than exp({gap:.3g}) times as heavy"

    def only(self, names: Sequence[str]) -> BestStates:
        """The same states, told of some variables only."""
        told = (
            BestState({name: state[name] for name in names}, state.log_weight)
            for state in self.states
        )
        return replace(self, states=tuple(told))

    def __str__(self) -> str:
        """A table with a column for each state; long ones are cut short and say so."""
        shown = self.states[:MOST_COLUMNS]
        titles = ("variable", *(str(rank) for rank in range(1, len(shown) + 1)))
        names = list(self.states[0])
        rows = [("log weight", *(f"{state.log_weight:.6g}" for state in shown))]
        for name in names[:MOST_VARIABLES]:
            rows.append((printable(name), *(printable(state[name]) for state in shown)))
        lines = [plain_table(titles, rows)]
        if len(names) > MOST_VARIABLES:
            lines.append(f"and {len(names) - MOST_VARIABLES:,} more variables")
        if len(self.states) > MOST_COLUMNS:
            lines.append(f"and {len(self.states) - MOST_COLUMNS:,} more states")
        return "\n".join([*lines, f"{self.about.method}: {self.about.reason}; {self.verdict()}"])

    def to_frame(self) -> DataFrame:
        """A pandas DataFrame with a row for each state: its log-weight, and all values."""
        pd = extra("pandas", "frames")
        rows = [{"log_weight": state.log_weight, **state} for state in self.states]
        found: DataFrame = pd.DataFrame(rows, index=pd.RangeIndex(1, len(rows) + 1, name="rank"))
        return found

    def to_json(self) -> str:
        """One JSON object."""
        held: dict[str, Any] = {
            "proven": self.proven,
            "bound": self.bound if math.isfinite(self.bound) else None,
            "states": [
                {"log_weight": state.log_weight, "values": dict(state)} for state in self.states
            ],
            "method": self.about.method,
            "reason": self.about.reason,
            "seconds": self.about.seconds,
            "seed": self.about.seed,
            "interrupted": self.about.interrupted,
            "warnings": list(self.about.warnings),
        }
        return json.dumps(held, indent=2, ensure_ascii=False, allow_nan=False)

    def to_csv(self) -> str:
        """A line for each state, after a line of titles."""
        import csv
        import io

        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["rank", "log_weight", *self.states[0]])
        for rank, state in enumerate(self.states, 1):
            writer.writerow([rank, repr(state.log_weight), *state.values()])
        return text.getvalue()
