"""What is known about ground atoms, and which of them are asked about."""

from orbitmc._util.loading import load_lazily

__getattr__, __dir__ = load_lazily(
    __name__,
    {
        "Database": "mln.data.database",
        "Facts": "mln.data.database",
        "Ints": "mln.data.database",
        "Universe": "mln.data.database",
        "empty_types": "mln.data.database",
        "integer_of": "mln.data.database",
        "merge_databases": "mln.data.database",
        "number_of": "mln.data.database",
        "parse_database": "mln.data.reader",
        "read_database": "mln.data.reader",
        "read_databases": "mln.data.reader",
        "universe": "mln.data.database",
    },
)
