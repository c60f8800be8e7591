"""What a worker does: open what it was sent, once, and work on pieces."""

import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

MOST_OPENED = 4  # of which a worker keeps what it was sent; one question needs one or two


class Piece(NamedTuple):
    """A piece of work: the name of what it needs, its content unless a worker should have it."""

    name: str
    content: bytes | None
    function: Callable[[Any, Any], Any]
    argument: Any


class Reply(NamedTuple):
    """What came of a piece; if what it needs is not `known`, nothing was done."""

    known: bool
    result: Any = None


_opened: OrderedDict[str, Any] = OrderedDict()
_lock = threading.Lock()


def work(piece: Piece) -> Reply:
    """Do a piece of work."""
    with _lock:  # one thread of a worker opens, the others wait for it
        if piece.name not in _opened:
            if piece.content is None:
                return Reply(False)
            _opened[piece.name] = pickle.loads(piece.content).opened()
        _opened.move_to_end(piece.name)
        needed = _opened[piece.name]
        while len(_opened) > MOST_OPENED:
            _opened.popitem(last=False)
    return Reply(True, piece.function(needed, piece.argument))
