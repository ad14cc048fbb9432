"""What a platform of many merchants would need, worked out from what was measured on two cores.

python tests/benchmarks/scale/bench_plan.py prints a Markdown table by merchants and events a second. The
measured parts stand below with where they come from, and every line of the table follows from them.
"""

from dataclasses import dataclass

# Processor µs an event on PostgreSQL, its own included (docs/performance.md, receiving; docs/scale.md, a full inbox).
RECEIVE_US, APPLY_US = 264 + 67, 185
# A night in a process of its own (docs/scale.md, docs/performance.md): its start, s a payment of the open month.
START_S, NIGHT_S = 2.7, 44e-6
# Bytes on disk of an event with its body, and of one whose body retention dropped, indexes included.
EVENT_BYTES, IDENTITY_BYTES = 2_300, 760
EVENTS_A_PAYMENT, DAYS_OPEN, RETENTION_DAYS = 3, 15, 400
# How busy a core may be, how many cores a cell of receivers, workers and one PostgreSQL has, hours a night may take.
BUSY, CELL_CORES, NIGHT_HOURS = 0.6, 16, 4
SCALES = ((1, 10), (200, 100), (1_000, 500), (10_000, 5_000), (100_000, 50_000))
DAY = 86_400


@dataclass(frozen=True, slots=True)
class Need:
    """What one scale needs."""

    cells: int
    event_cores: float
    night_seconds: float
    night_cores: float
    bodies_tb: float
    identities_gb_a_day: float


def work_out(merchants: int, events: int) -> Need:
    """Return what so many merchants with so many events a second, all together, need."""
    event_cores = events * (RECEIVE_US + APPLY_US) / 1e6 / BUSY
    open_payments = events * DAY / EVENTS_A_PAYMENT * DAYS_OPEN / merchants
    night = START_S + open_payments * NIGHT_S
    return Need(
        cells=-int(-event_cores // CELL_CORES),
        event_cores=event_cores,
        night_seconds=night,
        night_cores=merchants * night / (NIGHT_HOURS * 3_600) / BUSY,
        bodies_tb=events * DAY * EVENT_BYTES * RETENTION_DAYS / 1e12,
        identities_gb_a_day=events * DAY * IDENTITY_BYTES / 1e9,
    )


def main() -> None:
    print("| merchants | events/s | event cores | cells | s a night | night cores | bodies, TB | ids, GB/day |")
    print("|---|---|---|---|---|---|---|---|")
    for merchants, events in SCALES:
        need = work_out(merchants, events)
        cells = (f"{need.event_cores:.1f}", f"{need.cells}", f"{need.night_seconds:.1f}", f"{need.night_cores:.1f}")
        disk = (f"{need.bodies_tb:,.1f}", f"{need.identities_gb_a_day:,.1f}")
        print(f"| {' | '.join((f'{merchants:,}', f'{events:,}', *cells, *disk))} |")


if __name__ == "__main__":
    main()
