"""The pictures of patterns show the patterns that are found."""

from docs import patterns


def test_the_pictures_are_what_their_generator_draws() -> None:
    drawn = patterns.PICTURE.read_text(encoding="utf-8")
    assert drawn == patterns.picture(), "run python -m docs.patterns"
