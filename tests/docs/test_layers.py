"""The picture of the layers shows the layers that there are."""

from docs import layers


def test_the_picture_is_what_its_generator_draws() -> None:
    drawn = layers.PICTURE.read_text(encoding="utf-8")
    assert drawn == layers.picture(), "run python -m docs.layers"


def test_every_room_says_what_it_is_for() -> None:
    assert [name for name in layers.layers() if not layers.room(name).sentence] == []
