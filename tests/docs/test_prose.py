"""The pages are written in plain sentences: short ones, without constructions that hide the point.

The patterns are few and stand for a kind of sentence each. A page with one of them is rewritten;
there is no list of exceptions. Pages that a program writes are left to its author.
"""

import re
from pathlib import Path

import pytest

from tests.together import together

ROOT = Path(__file__).parents[2]
ALL_PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/errors/*.md")])
PAGES = [p for p in ALL_PAGES if "<!-- Written by" not in p.read_text(encoding="utf-8")]
LONGEST = 40
"""Words in a sentence."""

NO_PROSE = re.compile(r"^(```+).*?^\1$|<!--.*?-->|^\|.*?$|^#.*?$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^]]*\]\([^)]*\)")
CODE = re.compile(r"`+[^`]+`+")
BORDER = re.compile(r"\n\s*\n|\n\s*(?:[-*:]|\d+\.) |(?<=[.?!])[)*]*\s+")
RIDDLES = {
    r"\b[Ww]hat (?:is|was|does|has)\b[^.,:;]* that which\b": "name the thing",
    r"^What [a-z][^?]*$": "begin with the thing itself",
    r"\b(?:one|ones) of the others?\b": "say what is made",
    r"\bin its place where\b": "say what to write, then when",
    r"\b(?:would|will) do again what\b": "say what is compared with what",
    r"\b(?:is|are) taken for granted\b": "say what funcdiff assumes",
    r"\bWhat remains: ": "say what is not found or done",
    r"\b[Tt]hat is so (?:where|when|if)\b": "begin with the condition",
    r"\b[Hh]ere is what there is\b": "list it",
    r"^(?:Of|In|For) [^.,:;]*\bwhat\b[^.,]* (?:is|are)\b": "begin with the actor",
    r"[^.:]*: [^.:]*: [^.:]*:": "three colons: one thought a sentence",
    r";[^;]*; ": "two semicolons: one thought a sentence",
    r"; (?:else|then|what|where|without)\b": "make two sentences",
    r"^[^,]* (?:of|for|by) which (?:an?|one|no|nothing)\b": "begin with the part",
}
"""What a sentence must not have, and the cure."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a page, with a word for each link and each piece of code."""
    text = CODE.sub("code", LINK.sub("link", NO_PROSE.sub("\n", text)))
    return [" ".join(part.split()) for part in BORDER.split(text) if part.strip()]


def faults(sentence: str) -> list[str]:
    """Return what is wrong with a sentence."""
    count = len(sentence.split())
    found = [f"{count} words: make two sentences"] if count > LONGEST else []
    return found + [cure for pattern, cure in RIDDLES.items() if re.search(pattern, sentence)]


@together
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_written_in_plain_sentences(page: Path) -> None:
    found = {s: faults(s) for s in sentences(page.read_text(encoding="utf-8"))}
    assert {sentence: cures for sentence, cures in found.items() if cures} == {}


@together
@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.stem)
def test_a_page_begins_with_its_purpose(page: Path) -> None:
    """Pages that a program writes, too."""
    body = NO_PROSE.sub("", page.read_text(encoding="utf-8")).strip()
    first = sentences(body.split("\n\n")[0])
    assert {sentence: found for sentence in first if (found := faults(sentence))} == {}


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("It calls `np`, or `fnp` in its place where it makes arrays.", "say what to write"),
        ("A call costs 15 µs and its program, if it would do again what it did.", "say what is"),
        ("What is returned is that which was given.", "name the thing"),
        ("It makes the one of the other.", "say what is made"),
        ("What needs no derivative is passed by keyword.", "begin with the thing"),
        ("It runs alone; where it calls another one, it imports that.", "make two"),
        ("A loop runs; it ends; the values stay.", "two semicolons"),
        ("It is a product of which one operand is masked.", "begin with the part"),
        ("word " * 41, "41 words"),
        ("- One item of twenty words.\n- " + "word " * 41, "41 words"),
    ],
)
def test_a_riddle_is_found(text: str, cure: str) -> None:
    assert [f for s in sentences(text) for f in faults(s) if f.startswith(cure)]


def test_code_tables_and_headings_are_no_prose() -> None:
    long = "word " * 41
    text = f"```text\n{long}\n```\n\n| {long} |\n\n# {long}\n\nA sentence with `{long}`."
    assert not [f for s in sentences(text) for f in faults(s)]
