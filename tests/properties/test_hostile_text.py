"""Text of the user's never becomes code: markers are planted wherever a string can enter."""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff import pytree
from funcdiff.core.text.parse import parse
from funcdiff.errors import InputError
from tests.properties.laws import SLOW, examples

X = np.array([0.5, 2.0])
LARGE = np.linspace(0.0, 1.0, 20)

PIECES = (
    'FIRE()', '"""', "'''", '"', "'", "\\", "\n", "\r", "\t", "\x00", "\x0c", "\x85", "\u2028",
    "\ud800", ";", " ", ",", "#", "(", ")", "[", "]", "{", "}", "=", ":", ".", "*", "**", "%0",
    "    FIRE()", "\n    FIRE()\n", '"""; FIRE(); """', "']; FIRE(); ['", "x): FIRE()\ndef g(",
    "class", "lambda", "range", "np", "FIRE", "ﬁ", "fi", "²", "x", "__", "0", ".2", "f'{FIRE()}'",
    "y" * 99, "None", "return",
)  # fmt: skip
hostile = st.lists(st.sampled_from(PIECES), max_size=5).map("".join)


class Hostile:
    """A value that prints as what was given; equal to itself."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class Text(str):
    """A text that prints as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Fired(BaseException):
    """The marker was run."""


def _same(x: Any) -> Any:
    return x


def _fire() -> None:
    raise Fired


@contextmanager
def armed() -> Iterator[None]:
    """Let the marker be known everywhere."""
    builtins.FIRE = _fire  # type: ignore[attr-defined]
    try:
        yield
    finally:
        del builtins.FIRE  # type: ignore[attr-defined]


class Call(NamedTuple):
    """A call in which a text stands somewhere, and what it needs from outside."""

    f: Callable[..., Any]
    args: tuple[Any, ...] = (X,)
    kwargs: dict[str, Any] = {}  # noqa: RUF012
    outside: Callable[..., Any] | None = None
    captured: Any = None
    exact: bool = True  # whether keys and text of the result come back


# ---- where texts enter ---------------------------------------------------------------------------


def as_a_key(text: str) -> Call:
    return Call(lambda tree: tree[text] * np.sin(tree[text]), ({text: X, "other": 1.0},))


def as_a_key_of_another_class(text: str) -> Call:
    key = Text(text)
    return Call(lambda tree: tree[key] * 2, ({key: X},))


def as_what_a_key_prints(text: str) -> Call:
    key = Hostile(text)
    return Call(lambda tree: tree[key] * 2, ({key: X},))


def as_part_of_a_key(text: str) -> Call:
    return Call(lambda tree: tree[text, 1] * 2, ({(text, 1): X, ("b", text): X},))


def as_an_argument(text: str) -> Call:
    return Call(lambda x, mode: x * len(mode), (X, text))


def as_what_an_argument_prints(text: str) -> Call:
    return Call(lambda x, mode: x * 2, (X, {"a": Hostile(text), "b": Text(text)}))


def as_a_keyword(text: str) -> Call:
    return Call(lambda **given: 3 * given[text], (), {text: X})


def as_a_keyword_of_another_class(text: str) -> Call:
    return Call(lambda **given: 3 * next(iter(given.values())), (), {Text(text): X})


def as_a_keyword_of_what_has_no_signature(text: str) -> Call:
    class Bare:
        __signature__ = None

        def __call__(self, x: Any, **given: Any) -> Any:
            return x * given[text]

    return Call(Bare(), (X,), {text: X})


def as_a_key_of_the_result(text: str) -> Call:
    return Call(lambda x: {text: x * 2, "": x, (text,): {text: x}})


def as_what_keys_of_the_result_print(text: str) -> Call:
    return Call(lambda x: {Hostile(text): x, Hostile(text): 2 * x, "a": 3 * x}, exact=False)


def as_a_part_of_the_result(text: str) -> Call:
    return Call(lambda x: [x * 2, text, {"a": text}, (text, None)])


def as_the_name_of_a_function(text: str) -> Call:
    def f(x: Any) -> Any:
        return x * x

    f.__name__ = f.__qualname__ = text
    return Call(f)


def as_the_name_of_a_derivative(text: str) -> Call:
    return Call(fd.elementwise_grad(as_the_name_of_a_function(text).f))


def as_the_name_of_code(text: str) -> Call:
    def f(x: Any) -> Any:
        inner = np.sin(x)
        return inner * x

    code = f.__code__.replace(co_name=text, co_qualname=text)
    return Call(FunctionType(code, globals(), text))


def as_the_name_of_a_file(text: str) -> Call:
    text = text.replace("\x00", "")
    scope: dict[str, Any] = {"np": np}
    lines = ["def f(x):\n", f"    {text}\n", "    return y * np.cos(y)\n"]
    tree = compile("def f(x):\n    y = np.sin(x)\n    return y * np.cos(y)\n", text, "exec")
    exec(tree, scope)
    linecache.cache[text] = (1, None, lines, text)
    return Call(scope["f"])


def as_the_name_of_a_custom_function(text: str) -> Call:
    inner = as_the_name_of_a_function(text).f
    f: Any = fd.custom_vjp(inner)
    f.defvjp(lambda x: (x * x, x), lambda x, ct: (2 * x * ct,))
    return Call(lambda x: f(x) + f(2 * x))


def as_the_name_of_an_opaque_function(text: str) -> Call:
    inner = as_the_name_of_a_function(text).f
    opaque: Any = fd.primitive(inner, result=_same)
    return Call(lambda x: opaque(x) + 1, outside=inner)


def as_the_name_of_a_batch(text: str) -> Call:
    call = as_the_name_of_an_opaque_function(text)
    return call._replace(f=fd.vmap(call.f))


def as_a_tap(text: str) -> Call:
    return Call(lambda x: fd.tap(text, x * 2) + fd.tap(Text(text + "!"), x))


def as_a_key_that_is_closed_over(text: str) -> Call:
    weights: dict[str, Any] = {text: LARGE, "other": {text: LARGE + 1}}
    return Call(lambda x: x[0] * weights[text] + weights["other"][text], captured=weights)


def as_a_name_of_children(text: str) -> Call:
    cls = type("Registered", (), {})
    pytree.register(cls, lambda box: ([box.x], text), lambda aux, xs: _boxed(cls, xs), (text,))
    return Call(lambda box: box.x * 2, (_boxed(cls, [X]),))


def as_a_class_of_the_result(text: str) -> Call:
    cls = type(re.sub("[\x00\ud800-\udfff]", "", text), (), {})
    pytree.register(cls, lambda box: ([box.x], text), lambda aux, xs: _boxed(cls, xs))
    return Call(lambda x: _boxed(cls, [x]))


def as_an_attribute(text: str) -> Call:
    return Call(lambda box: 2 * getattr(box, text), (SimpleNamespace(**{text: X}),))


def as_an_attribute_of_the_result(text: str) -> Call:
    return Call(lambda x: SimpleNamespace(**{text: x}))


def as_a_factory(text: str) -> Call:
    def factory() -> Any:
        return 0

    factory.__name__ = text
    return Call(lambda d: d[text] * 2, (defaultdict(factory, {text: X}),))


def _boxed(cls: type, xs: list[Any]) -> Any:
    box = cls()
    box.x = xs[0]
    return box


PLACES = [
    as_a_key, as_a_key_of_another_class, as_what_a_key_prints, as_part_of_a_key, as_an_argument,
    as_what_an_argument_prints, as_a_keyword, as_a_keyword_of_another_class,
    as_a_keyword_of_what_has_no_signature, as_a_key_of_the_result,
    as_what_keys_of_the_result_print, as_a_part_of_the_result, as_the_name_of_a_function,
    as_the_name_of_a_derivative, as_the_name_of_code, as_the_name_of_a_file,
    as_the_name_of_a_custom_function, as_the_name_of_an_opaque_function, as_the_name_of_a_batch,
    as_a_tap, as_a_key_that_is_closed_over, as_a_name_of_children, as_a_class_of_the_result,
    as_an_attribute, as_an_attribute_of_the_result, as_a_factory,
]  # fmt: skip


# ---- what is required ----------------------------------------------------------------------------


def executed(text: str, call: Call) -> Callable[..., Any]:
    """Return the function of a text; of what it needs from outside there is one."""
    tree = ast.parse(text)
    needs = re.findall(r"^- (\S+): ", ast.get_docstring(tree) or "", re.MULTILINE)
    scope: dict[str, Any] = dict.fromkeys(needs, call.outside)
    exec(compile(text, "text", "exec"), scope)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    found: Callable[..., Any] = scope[functions[-1].name]
    captured = iter(pytree.flatten(call.captured)[0])
    named = {arg.arg: next(captured) for arg in functions[-1].args.kwonlyargs}
    return lambda *args, **kwargs: found(*args, **kwargs, **named)


def require_harmless(call: Call) -> None:
    """Require that the text of a call runs nothing of the user's, and computes what `f` does."""
    expected = call.f(*call.args, **call.kwargs)
    with armed():
        try:
            text = fd.source(call.f)(*call.args, **call.kwargs)
        except InputError as error:
            if "is not reached by an expression" in str(error):
                return
            raise
        found = executed(text, call)(*call.args, **call.kwargs)
    if call.exact and isinstance(expected, dict | list | tuple):
        assert str(found) == str(expected)
    else:
        leaves = pytree.flatten(expected)[0]
        np.testing.assert_array_equal(pytree.flatten(found)[0], leaves)


@pytest.mark.thinned(8)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "text",
    ['"""; FIRE(); """', "'; FIRE(); '", "\n    FIRE()\n    ", "\r    FIRE()", "'\"\\', (FIRE()),",
     "\\", "class", "", "range", "np", "\ud800", "²", "FIRE()"],
)  # fmt: skip
def test_texts_that_look_like_code_are_not_run(place: Callable[[str], Call], text: str) -> None:
    require_harmless(place(text))


@pytest.mark.slow
@examples(60, 860)
@given(st.sampled_from(PLACES), hostile | st.text(max_size=20) if SLOW else hostile)
def test_no_text_is_run(place: Callable[[str], Call], text: str) -> None:
    require_harmless(place(text))


NAMES = ["range", "map", "zip", "reversed", "complex", "tuple", "namedtuple", "partial", "reduce",
         "FIRE", "f", "loop", "row", "rows", "k", "x0", "carry", "match", "_", "value"]  # fmt: skip


@pytest.mark.thinned(4)
@pytest.mark.parametrize("word", NAMES)
def test_a_parameter_hides_nothing_that_the_text_calls(word: str) -> None:
    opaque = fd.primitive(lambda x: np.sin(x), result=lambda x: x)
    scope: dict[str, Any] = {"np": np, "fd": fd, "opaque": opaque}
    exec(
        f"def loop({word}, other=None):\n"
        f"    total, rows = fd.scan(lambda c, x: (c * 0.5 + x, x), {word}[0] * 1.0, {word})\n"
        f"    return total * rows + fd.vmap(opaque)({word})\n",
        scope,
    )
    require_harmless(Call(scope["loop"], outside=np.sin))
    require_harmless(Call(scope["loop"], (), {word: X, "other": "text"}, outside=np.sin))


def test_names_that_python_takes_for_the_same_are_told_apart() -> None:
    require_harmless(Call(lambda tree: np.sin(tree["ﬁ"]) ** 2 + np.cos(tree["fi"]) ** 3,
                          ({"ﬁ": X, "fi": 2 * X},)))  # fmt: skip


def test_a_parameter_by_position_only_leaves_its_name_to_a_keyword() -> None:
    def f(x: Any, y: Any, /, *rest: Any, **given: Any) -> Any:
        return x * rest[0] + given["x"] ** 2 * y

    require_harmless(Call(f, (X, 2 * X, 3 * X), {"x": 4 * X}))


# ---- programs ------------------------------------------------------------------------------------


@example("")
@example("\ud800'\"\\\n")
@given(hostile | st.text(max_size=8))
def test_programs_with_any_names_are_read_as_they_were_written(text: str) -> None:
    function = as_the_name_of_a_function(text).f
    opaque: Any = fd.primitive(function, result=_same)
    custom: Any = fd.custom_jvp(function)
    custom.defjvp(lambda xs, ts: (xs[0] ** 2, 2 * xs[0] * ts[0]))

    def f(x: Any) -> Any:
        return custom(opaque(fd.tap(text, x))) + fd.tap(np.str_(text + "!"), x)

    with armed():
        program = fd.trace(lambda x: (f(x), fd.tap_values(f)))(X)
        assert parse(str(program)) == program


def test_functions_of_all_names_keep_their_own_code() -> None:
    functions: list[Any] = []
    for k, name in enumerate(("f", "f", "f.2", "f.2", "f.", "f", "f.3", "f..2", "f.2.2")):

        def f(x: Any, k: int) -> Any:
            return x * (k + 1)

        one = cast("Any", functools.partial(f, k=k))
        one.__name__ = name
        functions.append(fd.primitive(one, result=_same))
    found = fd.jit(lambda x: [f(x) for f in functions])(1.0)
    assert found == [k + 1.0 for k in range(len(functions))]
