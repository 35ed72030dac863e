"""Every seed comes from here: a hash of names, never `seed + 1`."""

import hashlib


def derive_seed(*names: str | int) -> int:
    """Return a 63-bit seed that depends on all of `names` and on their order."""
    text = "\0".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
