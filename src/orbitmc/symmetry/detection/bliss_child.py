"""The child process that runs BLISS: arrays in, arrays out, within limits.

Run as a script; it imports nothing of this package, so that it starts at once.
"""

import io
import sys

import igraph
import numpy as np


def main() -> None:
    received = io.BytesIO(sys.stdin.buffer.read())
    (memory, seconds), edges, colors = (np.load(received, allow_pickle=False) for _ in range(3))
    limit(int(memory), int(seconds))
    graph = igraph.Graph(n=len(colors), edges=edges, directed=False)
    _, color = np.unique(colors, return_inverse=True)
    rows = graph.automorphism_group(color=color.tolist()) if len(colors) else []
    send([sparse(row) for row in rows])


def limit(memory: int, seconds: int) -> None:
    """Limit memory and time where the system can; the parent limits the time anyway."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def sparse(row: list[int]) -> tuple[np.ndarray, np.ndarray]:
    image = np.array(row, dtype=np.int64)
    moved = np.flatnonzero(image != np.arange(len(image)))
    return moved, image[moved]


def send(moves: list[tuple[np.ndarray, np.ndarray]]) -> None:
    none = np.zeros(0, dtype=np.int64)
    start = np.cumsum([0] + [len(points) for points, _ in moves])
    answer = io.BytesIO()
    np.save(answer, start.astype(np.int64))
    np.save(answer, np.concatenate([none, *(points for points, _ in moves)]))
    np.save(answer, np.concatenate([none, *(images for _, images in moves)]))
    sys.stdout.buffer.write(answer.getvalue())


if __name__ == "__main__":
    main()
