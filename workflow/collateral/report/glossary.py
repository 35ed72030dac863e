"""Definitions of terms, which the page shows on hover."""

from __future__ import annotations

import re

TERMS = {
    "UA": "Unlearning accuracy: accuracy on the forget set; some literature prints 100 − UA",
    "RA": "Retain accuracy: accuracy on the retained train examples",
    "TA": "Test accuracy: accuracy on the test set",
    "MIA": "Membership inference attack: share of the forget set that it calls non-members",
    "RTE": "Run-time efficiency: seconds from the base model to the unlearned model",
    "Retrain": "A model trained from the start without the forgotten examples",
    "cell": "One forget set of the benchmark, with all runs on it",
    "damage": "Near loss minus far loss: what the neighbours lose beyond all others",
    "near loss": "Accuracy lost against Retrain on the retained examples nearest to the forget set",
    "far loss": "Accuracy lost against Retrain on all other examples",
    "margin": "Largest difference from Retrain that counts as equal",
}
_FOUND = re.compile(rf"\b({'|'.join(sorted(TERMS, key=len, reverse=True))})\b", re.IGNORECASE)
_BY_LOWER = {term.lower(): text for term, text in TERMS.items()}
_ACRONYMS = {term for term in TERMS if term.isupper()}


def split_terms(text: str) -> list[tuple[str, str]]:
    """Split a text at its terms; each term has its definition at its first occurrence only.

    The templates write the tags (macro `gloss`), so that no text is exempt from escaping.
    """
    seen: set[str] = set()
    parts = []
    for place, word in enumerate(_FOUND.split(text)):
        is_term = place % 2 == 1 and word not in seen
        is_other_word = word.upper() in _ACRONYMS and not word.isupper()
        if is_term and not is_other_word:
            seen.add(word)
            parts.append((word, _BY_LOWER[word.lower()]))
        else:
            parts.append((word, ""))
    return parts
