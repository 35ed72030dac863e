"""Rename weights of a user's file by the config key `rename`, which maps old to new prefixes."""

from collections.abc import Iterable, Mapping

from collateral.contract.messages import quoted


def rename_all(names: Iterable[str], rename: Mapping[str, str]) -> dict[str, str]:
    """Return the new name of each weight; raise if an entry of `rename` matches no name."""
    names = list(names)
    for before in rename:
        if not any(name.startswith(before) for name in names):
            first = f"; the first is {quoted(names[0])}" if names else ""
            raise ValueError(f"rename: {quoted(before)}: no name in the file begins so{first}")
    return {name: _rename(name, rename) for name in names}


def _rename(name: str, rename: Mapping[str, str]) -> str:
    # Longer prefixes are tried first, because they are more specific.
    for before in sorted(rename, key=len, reverse=True):
        if name.startswith(before):
            return rename[before] + name.removeprefix(before)
    return name


def check_distinct(new: Mapping[str, str]) -> None:
    """Raise if two weights get the same new name, because one of them would be lost."""
    before: dict[str, str] = {}
    for name, one in new.items():
        if one in before:
            both = f"{quoted(before[one])} and {quoted(name)}"
            raise ValueError(f"rename: {both} both become {quoted(one)}")
        before[one] = name
