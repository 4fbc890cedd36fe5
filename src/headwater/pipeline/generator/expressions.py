"""The generator's expressions, such as `#{Internet.uuid}`, as native Spark expressions."""

import re
from collections.abc import Callable

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as F

from headwater.pipeline.generator.draw import Draw
from headwater.pipeline.generator.regexify import regexify
from headwater.pipeline.generator.words import WORDS

_EXPRESSION = re.compile(r"#\{\s*([\w.]+)\s*((?:'[^']*'\s*,?\s*)*)\}")
_UNITS = {"millisecond": 1e-3, "second": 1, "minute": 60, "hour": 3600, "day": 86_400}


class Call(msgspec.Struct, frozen=True):
    """One use of a function: its arguments, the row's draw and the row's moment."""

    arguments: list[str]
    draw: Draw
    moment: Column

    def word(self, list_name: str) -> Column:
        """A word out of one of the vocabularies."""
        return self.draw.other(list_name).one_of(WORDS[list_name])


def expression(text: str, draw: Draw, moment: Column) -> Column:
    """A field's value: the type of the one function it is, or text with functions in it.

    Raises:
        ValueError: the text names a function that is not known, or gives it odd arguments.

    """
    found = list(_EXPRESSION.finditer(text))
    if "#{" in _EXPRESSION.sub("", text):
        raise ValueError(f"{text!r} is not a supported expression")
    if len(found) == 1 and found[0].group(0) == text.strip():
        return _call(found[0], draw, moment)
    parts, at = [], 0
    for number, one in enumerate(found):
        parts.append(F.lit(text[at : one.start()]))
        parts.append(_call(one, draw.other(number), moment).cast("string"))
        at = one.end()
    return F.concat(*parts, F.lit(text[at:])) if parts else F.lit(text)


def functions() -> list[str]:
    """The names of the functions, as they are compared: small, without underscores."""
    return sorted(_FUNCTIONS)


def _call(found: re.Match[str], draw: Draw, moment: Column) -> Column:
    name = found.group(1).replace("_", "").lower()
    if name not in _FUNCTIONS:
        raise ValueError(f"the function {found.group(1)!r} is not supported")
    arguments = re.findall(r"'([^']*)'", found.group(2))
    try:
        return _FUNCTIONS[name](Call(arguments, draw, moment))
    except (IndexError, KeyError, TypeError) as error:
        raise ValueError(f"{found.group(0)!r} has invalid arguments") from error


def _random_double(call: Call) -> Column:
    digits, low, high = (int(argument) for argument in call.arguments)
    spread = call.draw.unit() * F.lit(float(high - low)) + F.lit(float(low))
    return F.round(spread, digits)


def _between(call: Call) -> Column:
    low, high = (int(argument) for argument in call.arguments)
    return call.draw.whole(low, max(low, high - 1))


def _seconds(call: Call) -> Column:
    most, unit = call.arguments[:2]
    seconds = int(most) * _UNITS[unit.lower().removesuffix("s")]
    return call.draw.unit() * F.lit(float(seconds))


def _shifted(call: Call, direction: int) -> Column:
    micros = F.unix_micros(call.moment) + F.floor(_seconds(call) * F.lit(direction * 1_000_000))
    return F.timestamp_micros(micros.cast("bigint"))


def _joined(*lists: str) -> Callable[[Call], Column]:
    return lambda call: F.concat_ws(" ", *(call.word(one) for one in lists))


def _email(call: Call) -> Column:
    name = F.lower(F.concat_ws(".", call.word("firstname"), call.word("lastname")))
    return F.concat(name, call.draw.other("n").whole(1, 999).cast("string"), F.lit("@example.com"))


def _digits(call: Call) -> Column:
    return regexify(re.sub("#", r"\\d", call.arguments[0]))(call.draw)


_FUNCTIONS: dict[str, Callable[[Call], Column]] = {
    "internet.uuid": lambda call: call.draw.uuid(),
    "internet.emailaddress": _email,
    "date.past": lambda call: _shifted(call, -1),
    "date.future": lambda call: _shifted(call, 1),
    "number.randomdouble": _random_double,
    "number.numberbetween": _between,
    "number.randomdigit": lambda call: call.draw.whole(0, 9),
    "number.randomnumber": lambda call: call.draw.whole(0, 999_999_999),
    "bool.bool": lambda call: call.draw.unit() < F.lit(0.5),
    "commerce.productname": _joined("adjective", "material", "product"),
    "commerce.department": _joined("department"),
    "commerce.material": _joined("material"),
    "commerce.price": lambda call: F.round(call.draw.unit() * F.lit(999.0) + F.lit(1.0), 2),
    "name.fullname": _joined("firstname", "lastname"),
    "name.name": _joined("firstname", "lastname"),
    "name.firstname": _joined("firstname"),
    "name.lastname": _joined("lastname"),
    "address.city": _joined("city"),
    "address.country": _joined("country"),
    "company.name": _joined("company", "suffix"),
    "color.name": _joined("color"),
    "lorem.word": _joined("word"),
    "options.option": lambda call: call.draw.one_of(call.arguments),
    "regexify": lambda call: regexify(call.arguments[0])(call.draw),
    "numerify": _digits,
}
