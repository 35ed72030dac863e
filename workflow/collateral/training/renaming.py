"""Names of weights: what they are in a user's file, and what `rename` makes of them."""

from collections.abc import Iterable, Mapping

from collateral.contract.messages import quoted


def renamed(names: Iterable[str], rename: Mapping[str, str]) -> dict[str, str]:
    """Return the new name of each; every entry of `rename` must match one."""
    names = list(names)
    for before in rename:
        if not any(name.startswith(before) for name in names):
            first = f"; the first is {quoted(names[0])}" if names else ""
            raise ValueError(f"rename: {quoted(before)}: no name in the file begins so{first}")
    return {name: _renamed(name, rename) for name in names}


def _renamed(name: str, rename: Mapping[str, str]) -> str:
    # The longest first, so that of two that begin alike the more exact one counts.
    for before in sorted(rename, key=len, reverse=True):
        if name.startswith(before):
            return rename[before] + name.removeprefix(before)
    return name


def check_no_two(new: Mapping[str, str]) -> None:
    """Refuse two names that become one: of their weights, one would be lost."""
    before: dict[str, str] = {}
    for name, one in new.items():
        if one in before:
            both = f"{quoted(before[one])} and {quoted(name)}"
            raise ValueError(f"rename: {both} both become {quoted(one)}")
        before[one] = name
