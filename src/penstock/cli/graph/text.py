"""Fitting words into boxes without a font at hand.

Widths are estimated from a table of character classes for a common sans-serif face, erring on the wide side:
text that is a little short of its box looks fine, text that leaves it does not.
"""

from __future__ import annotations

__all__ = ["shorten", "text_width", "wrap"]

_NARROW = frozenset("iljtfrI.,:;'|!()[] /")
_WIDE = frozenset("mwMWOQG@%&—…⋈ΣΔ")


def text_width(text: str, size: float) -> float:
    """The estimated width in pixels of ``text`` set in a face of ``size`` pixels."""
    ems = 0.0
    for character in text:
        if character in _NARROW:
            ems += 0.34
        elif character in _WIDE:
            ems += 0.88
        elif character.isupper():
            ems += 0.70
        else:
            ems += 0.57
    return ems * size


def shorten(text: str, size: float, width: float) -> str:
    """``text``, or as much of it as fits into ``width`` with an ellipsis at the end."""
    if text_width(text, size) <= width:
        return text
    kept = text
    while kept and text_width(kept + "…", size) > width:
        kept = kept[:-1]
    return kept.rstrip(" ,(") + "…"


def wrap(text: str, size: float, width: float, lines_max: int) -> list[str]:
    """``text`` broken at spaces into at most ``lines_max`` lines; what does not fit ends in an ellipsis."""
    lines: list[str] = []
    words = text.split()
    while words and len(lines) < lines_max:
        if len(lines) == lines_max - 1:
            lines.append(shorten(" ".join(words), size, width))
            break
        line = words.pop(0)
        while words and text_width(f"{line} {words[0]}", size) <= width:
            line = f"{line} {words.pop(0)}"
        if text_width(line, size) > width:
            # One word longer than the line: break it where it ends, it goes on in the next.
            fits = len(line)
            while fits > 1 and text_width(line[:fits], size) > width:
                fits -= 1
            words.insert(0, line[fits:])
            line = line[:fits]
        lines.append(line)
    return lines
