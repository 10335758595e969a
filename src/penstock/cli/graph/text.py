"""Fitting words into boxes without a font at hand.

Nobody knows which face a viewer sets the words in. Widths are those of DejaVu Sans, regular and bold: of the
faces that browsers commonly take for sans-serif it is (with Verdana, its twin in width) the widest, so what
fits in it fits in Arial, Helvetica, Segoe UI or Inter with room to spare.
"""

from __future__ import annotations

__all__ = ["shorten", "text_width", "wrap"]

# Advance widths in thousandths of the size, for the characters from the space to the tilde.
# fmt: off
_REGULAR = (
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 556, 1015, 684, 686, 722, 770, 667, 611, 778,
    752, 295, 500, 667, 557, 863, 748, 787, 667, 787, 722, 667, 611, 732, 684, 989, 685, 667, 685, 390,
    337, 390, 838, 556, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
    635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
)
_BOLD = (
    348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, 696, 696, 696, 696,
    696, 696, 696, 696, 696, 696, 400, 400, 838, 838, 838, 611, 1000, 774, 762, 734, 830, 683, 683, 821,
    837, 372, 556, 775, 637, 995, 837, 850, 733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457,
    365, 457, 838, 556, 500, 675, 716, 593, 716, 678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687,
    716, 716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712, 365, 712, 838,
)
# fmt: on
_OTHER = 1000  # an ellipsis, a dash, an arrow, an ideograph: nothing common is wider


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width in pixels of ``text`` set in a wide face of ``size`` pixels."""
    table = _BOLD if bold else _REGULAR
    return sum(table[ord(c) - 32] if " " <= c <= "~" else _OTHER for c in text) * size / 1000


def shorten(text: str, size: float, width: float, *, bold: bool = False) -> str:
    """``text``, or as much of it as fits into ``width`` with an ellipsis at the end."""
    if text_width(text, size, bold=bold) <= width:
        return text
    kept = text
    while kept and text_width(kept + "…", size, bold=bold) > width:
        kept = kept[:-1]
    return kept.rstrip(" ,(") + "…" if kept else ""


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
