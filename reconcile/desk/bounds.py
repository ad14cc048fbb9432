"""How often a rule is wrong at most or at least, from what is known of it; pure.

Both bounds hold at once for every count on the way (a betting martingale over the errors), so that looking each night
does not wear them out.
"""

from math import inf, lgamma, log, log1p

CONFIDENCE = 0.95
_STEPS = 60


def bound_errors(wrong: int, right: int, error: float) -> float:
    """Return the share of errors that is not exceeded, at 95 %; sharpest for rules about as good as `error`."""
    weight = 0.5 * (1 - error) / error
    return _find_end(wrong, right, (0.5, weight), _share(wrong, right), 1.0)


def is_contradicted(wrong: int, right: int, error: float) -> bool:
    """Return True if more errors than `error` are proved at 95 %."""
    return _share(wrong, right) > error and _log_martingale(wrong, right, (1.0, 1.0), error) >= _LIMIT


_LIMIT = -log(1 - CONFIDENCE)


def _share(wrong: int, right: int) -> float:
    return wrong / (wrong + right) if wrong + right else 0.0


def _find_end(wrong: int, right: int, prior: tuple[float, float], low: float, high: float) -> float:
    """Halve the stretch in which the martingale reaches the limit."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        is_possible = _log_martingale(wrong, right, prior, middle) < _LIMIT
        low, high = (middle, high) if is_possible else (low, middle)
    return high


def _log_martingale(wrong: int, right: int, prior: tuple[float, float], share: float) -> float:
    """Return the log of how much better the observed order is explained by the prior than by this share of errors."""
    if (share <= 0 and wrong) or (share >= 1 and right):
        return inf
    explained = _log_beta(wrong + prior[0], right + prior[1]) - _log_beta(*prior)
    return explained - (wrong * log(share) if wrong else 0.0) - (right * log1p(-share) if right else 0.0)


def _log_beta(left: float, right: float) -> float:
    return lgamma(left) + lgamma(right) - lgamma(left + right)
