"""Files of arrays, .npz: read without pickle; what is broken is named."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.lib.npyio import NpzFile

from collateral.results.files import MISSING, Unsound

# What single bits turned make of a file; RuntimeError: it says that it is encrypted.
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)


@contextmanager
def reading(path: Path) -> Iterator[NpzFile]:
    """Yield the arrays of a file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            yield file
    except FileNotFoundError:
        raise Unsound(path, MISSING) from None
    except KeyError as error:
        raise Unsound(path, f"broken: {error.args[0]}") from None
    except BROKEN as error:
        raise Unsound(path, f"broken: {str(error) or 'it ends too early'}") from None
