"""What the code of a test leads to is seen through functions, tables and partial calls."""

from functools import partial
from typing import Any

from tests import reached
from tests.claims import alike
from tests.reached import leads_to

WANTED = object()
TABLE: dict[str, Any] = {"none": None, "wanted": [partial(lambda x: (x, WANTED))]}


def names_it() -> Any:
    return [WANTED for _ in range(2)]


def calls_what_does() -> Any:
    return lambda: names_it()


def looks_it_up() -> Any:
    return TABLE


def does_not() -> Any:
    return reached.leads_to(does_not, leads_to), partial


def calls_each_other() -> Any:
    return does_not(), calls_each_other()


def test_a_test_leads_to_what_is_named_anywhere_on_the_way() -> None:
    closing = (lambda wanted: lambda: wanted)(WANTED)
    of_table = alike({"a row": (lambda: WANTED, None)})
    made: dict[str, Any] = {"WANTED": WANTED}
    exec("def of_no_module(): return WANTED", made)
    for f in (names_it, calls_what_does, looks_it_up, closing, of_table, made["of_no_module"]):
        assert leads_to(f, WANTED)
    for f in (does_not, calls_each_other, alike({"a row": (does_not, None)})):
        assert not leads_to(f, WANTED)
