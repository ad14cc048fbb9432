"""One reconciliation from frames to an explained result, in the order of the rules of money."""

from reconcile.rules.inputs import Inputs, Result


def reconcile(inputs: Inputs) -> Result:
    """Explain every payout, item and document of the inputs; pure, and the same for any order of the rows."""
    raise NotImplementedError
