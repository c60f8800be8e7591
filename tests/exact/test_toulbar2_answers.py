"""What the answer of toulbar2 means; it need not be installed for that."""

import json

import pytest

from orbitmc.errors import ContradictionError
from orbitmc.exact import toulbar2


@pytest.mark.parametrize("interrupted", [False, True])
def test_an_answer_without_a_state_is_no_contradiction_if_we_ended_it(interrupted, tmp_path):
    solver = object.__new__(toulbar2.Toulbar2)
    solver.interrupted, solver.answer_file = interrupted, tmp_path / "answer.json"
    assert solver.proof() is None
    solver.answer_file.write_text(json.dumps({"values": None, "dual": None, "early": True}))
    if interrupted:
        assert solver.proof() is None
    else:
        with pytest.raises(ContradictionError, match="no state is possible"):
            solver.proof()
