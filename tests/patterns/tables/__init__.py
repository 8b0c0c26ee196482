"""The patterns, by family."""

from tests.patterns.pattern import Pattern
from tests.patterns.tables import (
    assignments,
    elementwise,
    fourier,
    further,
    indices,
    keywords,
    linalg,
    matrices,
    products,
    reductions,
    shapes,
    special,
)

FAMILIES: dict[str, list[Pattern]] = {
    "assignments": assignments.PATTERNS,
    "elementwise": elementwise.PATTERNS,
    "reductions": reductions.PATTERNS,
    "shapes": shapes.PATTERNS,
    "indices": indices.PATTERNS,
    "keywords": keywords.PATTERNS,
    "products": products.PATTERNS,
    "linalg": linalg.PATTERNS,
    "fourier": fourier.PATTERNS,
    "special": special.PATTERNS,
    "further": further.PATTERNS,
    "matrices": matrices.PATTERNS,
}
