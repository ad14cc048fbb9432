"""Which bank files of an account speak of one stretch of days without a hole; pure."""

from collections.abc import Iterable

from consumer.facts.bankdays import BankCalendar
from reconcile.tables import BankFile


def join_files(files: Iterable[BankFile], calendar: BankCalendar) -> list[list[BankFile]]:
    """Group files by account into stretches, the file that begins each first."""
    stretches: list[list[BankFile]] = []
    # Of each stretch the files that a later one may still go on from.
    ends: list[list[BankFile]] = []
    for file in sorted(files, key=lambda file: (file.account, file.currency, file.since, file.until, file.sha256)):
        ends = [[end for end in some if _touches(end, file, calendar)] for some in ends]
        met = [place for place, some in enumerate(ends) if any(_meets(end, file) for end in some)]
        home = met[0] if met else len(stretches)
        if not met:
            stretches.append([])
            ends.append([])
        for place in met[1:]:
            stretches[home] += stretches[place]
            ends[home] += ends[place]
            stretches[place], ends[place] = [], []
        stretches[home].append(file)
        ends[home].append(file)
    return [stretch for stretch in stretches if stretch]


def _touches(before: BankFile, after: BankFile, calendar: BankCalendar) -> bool:
    """Days without business between two files are no hole."""
    same = (before.account, before.currency) == (after.account, after.currency)
    return same and (after.since <= before.until or after.since <= calendar.next_bank_day(before.until))


def _meets(before: BankFile, after: BankFile) -> bool:
    """Tell whether nothing lies between two files whose days touch; where both state balances these must meet."""
    if after.since < before.until or before.closing is None or after.opening is None:
        return True
    if after.since > before.until:
        return after.opening == before.closing
    # The day both speak of is told twice, or it was split between them, in whichever order they stand here.
    goes_on = after.opening in (before.closing, before.last_opening)
    return goes_on or (after.since == before.since and after.closing == before.opening)
