"""The order of a group in words; it may have more digits than Python is willing to write."""

import math
from decimal import Decimal

PLAIN = 10**15  # larger orders are written as powers of ten


def order_in_words(order: int | None) -> str:
    """How many elements a group has.

    >>> order_in_words(48), order_in_words(10**40), order_in_words(None)
    ('48', '1.000e40', 'an uncounted number of')
    """
    if order is None:
        return "an uncounted number of"
    if order < PLAIN:
        return f"{order:,}"
    power = math.log10(order)
    return f"{10 ** (power % 1):.3f}e{math.floor(power)}"


def digits(order: int) -> str:
    """All digits of an order, however many there are.

    >>> len(digits(10**5000))
    5001
    """
    return format(Decimal(order), "f")
