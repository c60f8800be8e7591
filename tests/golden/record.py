"""Record the answers to all questions: `python -m tests.golden.record`."""

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

from tests.golden.questions import EXACT, SAMPLED

RECORDED = Path(__file__).with_name("answers.json")


def digest(answer: Any) -> str:
    """Another one for every other number, to its last bit."""
    return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()[:16]


def main() -> None:
    answers: dict[str, dict[str, Any]] = {"exact": {}, "sampled": {}}
    with tempfile.TemporaryDirectory() as place:
        for number, (name, question) in enumerate(EXACT.items()):
            answers["exact"][name] = question(_folder(place, number))
        for number, (name, question) in enumerate(SAMPLED.items(), len(EXACT)):
            answers["sampled"][name] = digest(question(_folder(place, number)))
    RECORDED.write_text(json.dumps(answers, indent=1) + "\n")


def _folder(place: str, number: int) -> Path:
    folder = Path(place) / str(number)
    folder.mkdir()
    return folder


if __name__ == "__main__":
    main()
