"""Assignment inside one small component: as many pairs as possible, and which of them no other optimum can change."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

Edge = tuple[int, int]
MOST_NODES = 200


def components(edges: list[Edge]) -> list[list[Edge]]:
    """Group edges whose ends hang together, in the order of their smallest edge."""
    if not edges:
        return []
    left = {node: place for place, node in enumerate(sorted({edge[0] for edge in edges}))}
    right = {node: place + len(left) for place, node in enumerate(sorted({edge[1] for edge in edges}))}
    rows, columns = [left[edge[0]] for edge in edges], [right[edge[1]] for edge in edges]
    size = len(left) + len(right)
    graph = coo_array((np.ones(len(edges), dtype=np.int8), (rows, columns)), shape=(size, size))
    _, labels = connected_components(graph, directed=False)
    grouped: dict[int, list[Edge]] = {}
    for edge in sorted(edges):
        grouped.setdefault(int(labels[left[edge[0]]]), []).append(edge)
    return list(grouped.values())


def best_pairs(edges: list[Edge]) -> list[Edge]:
    """Choose as many pairs as can be had at once."""
    left, right = sorted({edge[0] for edge in edges}), sorted({edge[1] for edge in edges})
    places = {node: place for place, node in enumerate(left)}, {node: place for place, node in enumerate(right)}
    gain = np.zeros((len(left), len(right)), dtype=np.int64)
    for payment, doc in edges:
        gain[places[0][payment], places[1][doc]] = 1
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
