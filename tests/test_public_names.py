"""What `import orbitmc as om` promises."""

import pytest

import orbitmc as om


@pytest.mark.parametrize("name", om.__all__)
def test_every_public_name_is_there(name):
    assert getattr(om, name) is not None
    assert name in dir(om)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'marginal_'"):
        om.marginal_  # noqa: B018


def test_a_room_holds_its_files():
    import orbitmc.exact.elimination

    assert om.exact.elimination is orbitmc.exact.elimination
