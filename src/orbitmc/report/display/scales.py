"""Axes: where a number stands in a picture, and which numbers are written beside it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

MOST_TICKS = 6
STEPS = (1, 2, 5, 10)
FEW = 50.0  # times the lowest number: an axis that reaches less far has ticks at 2 and 5, too
TINY = 1e-4
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Scale:
    """Numbers from `low` to `high` between two places of a picture, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, number: float) -> float:
        low, high, here = (
            (math.log(self.low), math.log(self.high), math.log(max(number, self.low)))
            if self.log
            else (self.low, self.high, number)
        )
        share = (here - low) / (high - low) if high > low else 0.5
        return round(self.start + (self.end - self.start) * share, 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Round numbers on the axis, and how they are written."""
        return _log_ticks(self.low, self.high) if self.log else _ticks(self.low, self.high)


def log_scale(numbers: Sequence[float], start: float, end: float) -> Scale:
    """An axis that has room for positive numbers, and for two ticks at least.

    >>> [words for _, words in log_scale([0.002, 3.0], 0, 1).ticks()]
    ['0.001', '0.01', '0.1', '1', '10']
    >>> [words for _, words in log_scale([1.3, 4.0], 0, 1).ticks()]
    ['1', '2', '5']
    """
    low, high = min(numbers), max(numbers)
    fine = STEPS[:3] if high < FEW * low else STEPS[:1]
    allowed = [own * 10.0**power for power in _powers(low, high) for own in fine]
    below = [one for one in allowed if one <= low * (1 + 1e-9)]
    above = [one for one in allowed if one >= high * (1 - 1e-9)]
    first, last = below[-1], above[0]
    return Scale(first, last if last > first else 10 * first, start, end, log=True)


def _powers(low: float, high: float) -> range:
    """Powers of ten from below one number to above another."""
    return range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    if not high > low:
        return [(low, f"{low:g}")]
    rough = (high - low) / (MOST_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * own for own in STEPS if power * own >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [(place * step, f"{place * step:.6g}") for place in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    if high < FEW * low:
        every = [own * 10.0**power for power in _powers(low, high) for own in STEPS[:3]]
        shown = [one for one in every if low * (1 - 1e-9) <= one <= high * (1 + 1e-9)]
        return [(one, f"{one:g}" if one > TINY else f"{one:.0e}") for one in shown]
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    stride = max(1, -(-(last - first) // (MOST_TICKS - 1)))
    return [(10.0**power, power_of_ten(power)) for power in range(first, last + 1, stride)]


def power_of_ten(power: int) -> str:
    """A power of ten as people write it.

    >>> power_of_ten(-2), power_of_ten(3), power_of_ten(-7)
    ('0.01', '1,000', '10⁻⁷')
    """
    if -3 <= power <= 4:
        return f"{10.0**power:,.{max(0, -power)}f}"
    return f"10{str(power).translate(RAISED)}"
