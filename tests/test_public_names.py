"""What `import orbitmc as om` promises."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import orbitmc as om

ROOMS = (
    "kernels",
    "models",
    "groups",
    "symmetry",
    "run",
    "estimate",
    "exact",
    "compare",
    "testing",
)


@pytest.mark.parametrize("room", ["", "testing", *ROOMS])
def test_public_names_are_listed_and_documented(room):
    place = getattr(om, room) if room else om
    names = om.__all__ if not room else [name for name in dir(place) if not name.startswith("_")]
    assert names
    for name in names:
        found = getattr(place, name)
        assert name in dir(place)
        if inspect.isroutine(found) or inspect.isclass(found):
            assert found.__doc__ or issubclass(found, Exception), f"{room}.{name} says nothing"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'marginal_'"):
        om.marginal_  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'gibs'"):
        om.kernels.gibs  # noqa: B018


def test_rooms_list_their_names_before_anything_is_loaded():
    script = (
        "import sys, orbitmc as om\n"
        "assert 'lifted' in dir(om.kernels) and 'check_kernel' in dir(om.testing)\n"
        "assert 'numba' not in sys.modules and 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_room_holds_its_files():
    import orbitmc.exact.elimination

    assert om.exact.elimination is orbitmc.exact.elimination


@pytest.mark.parametrize("room", ROOMS)
def test_no_file_has_the_name_of_something_public(room):
    """The import system would put the file in the place of what has its name."""
    place = getattr(om, room)
    files = {path.stem for path in Path(place.__file__).parent.iterdir()}
    listed = {name for name in dir(place) if not inspect.ismodule(getattr(place, name))}
    assert not files & listed
