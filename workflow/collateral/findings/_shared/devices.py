"""On which devices the runs of a cell were computed: times of different ones are not compared."""

from collateral.results.table import CellTable

DIFFERENT = (
    "These times are of different devices, and must not be compared: {named}. Shares of Retrain's "
    "time are given on its own device alone."
)


def list_devices(cell: CellTable) -> dict[str, str]:
    """Return where each run was computed, of those that say so."""
    found = {run: cell.indices(run, "on_device") for run in cell.labels}
    return {run: " and ".join(names) for run, names in found.items() if names}


def different_devices(cell: CellTable) -> str:
    """Say which runs are of which device; empty where there is but one."""
    runs: dict[str, list[str]] = {}
    for run, device in list_devices(cell).items():
        runs.setdefault(device, []).append(cell.labels[run])
    named = "; ".join(f"{device}: {', '.join(labels)}" for device, labels in runs.items())
    return DIFFERENT.format(named=named) if len(runs) > 1 else ""
