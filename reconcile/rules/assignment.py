"""Assignment inside one small component: as many pairs as possible, and which of them no other optimum can change."""

from typing import Any

import numpy as np

Edge = tuple[int, int]
MOST_NODES = 200


def components(edges: list[Edge]) -> list[list[Edge]]:
    """Group edges whose ends hang together, in the order of their smallest edge."""
    above: dict[int, int] = {}
    for payment, doc in edges:
        # Documents are numbered downwards, so that no payment bears the same number.
        above[_top(above, ~doc)] = _top(above, payment)
    grouped: dict[int, list[Edge]] = {}
    for edge in sorted(edges):
        grouped.setdefault(_top(above, edge[0]), []).append(edge)
    return list(grouped.values())


def _top(above: dict[int, int], node: int) -> int:
    """Follow a node to the one its component is known by, and shorten the way for the next who asks."""
    while (over := above.setdefault(node, node)) != node:
        above[node] = node = above.setdefault(over, over)
    return node


def best_pairs(edges: list[Edge]) -> list[Edge]:
    """Choose as many pairs as can be had at once."""
    left, right = sorted({edge[0] for edge in edges}), sorted({edge[1] for edge in edges})
    places = {node: place for place, node in enumerate(left)}, {node: place for place, node in enumerate(right)}
    gain = np.zeros((len(left), len(right)), dtype=np.int64)
    for payment, doc in edges:
        gain[places[0][payment], places[1][doc]] = 1
    # Slow to load and large: most runs have no component of more than one edge.
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415

    rows, columns = linear_sum_assignment(gain, maximize=True)
    return [(left[row], right[column]) for row, column in _chosen(gain, rows, columns)]


def forced_pairs(edges: list[Edge]) -> list[Edge]:
    """Keep of the best pairs those that every equally good assignment contains: forbid each in turn and solve again."""
    if len(edges) == 1:
        return edges
    best = best_pairs(edges)
    return [pair for pair in best if len(best_pairs([edge for edge in edges if edge != pair])) < len(best)]


def _chosen(gain: Any, rows: Any, columns: Any) -> list[Edge]:
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True) if gain[row, column]]
