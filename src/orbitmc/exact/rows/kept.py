"""What was worked out of an object, kept as long as the object is there.

It belongs to that very object: a changed copy of it is another one, and shares nothing.
"""

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")

Key = tuple[int, Hashable]


class Kept:
    """The last few things that were worked out, by object and by what was asked of it.

    No more than so many, and together no more than so many bytes.
    """

    def __init__(self, most: int, most_bytes: int = 2**27) -> None:
        self.most, self.most_bytes = most, most_bytes
        self._found: OrderedDict[Key, tuple[weakref.ref[Any], Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def of(
        self,
        owner: object,
        key: Hashable,
        make: Callable[[], T],
        size_of: Callable[[T], int] = lambda made: 0,
    ) -> T:
        """What `make` gives for an object and a key, made once; never that of another object."""
        place = (id(owner), key)
        with self._lock:
            known = self._found.get(place)
            if known is not None and known[0]() is owner:
                self._found.move_to_end(place)
                return known[1]  # type: ignore[no-any-return]
        made = make()
        with self._lock:
            self._found[place] = (weakref.ref(owner), made, size_of(made))
            self._found.move_to_end(place)
            if self._is_full():
                self._forget()
        return made

    def __len__(self) -> int:
        return len(self._found)

    def _is_full(self) -> bool:
        taken = sum(size for _, _, size in self._found.values())
        return len(self._found) > self.most or taken > self.most_bytes

    def _forget(self) -> None:
        """Let go what belonged to objects that are gone, and what was asked for longest ago."""
        for place in [place for place, (owner, *_) in self._found.items() if owner() is None]:
            del self._found[place]
        while len(self._found) > 1 and self._is_full():
            self._found.popitem(last=False)
