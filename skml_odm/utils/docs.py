"""Docstrings whose repeated parts are written once."""

import inspect
import re
from textwrap import dedent

# A line that has nothing but the name of a part in braces.
PLACEHOLDER = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)
# A parameter whose default is to be filled in.
DEFAULT = re.compile(r"^( *(\w+) : .*default=)\.\.\.$", re.MULTILINE)


def documented(**parts):
    """Fill the docstring of a class: a decorator.

    A line ``{name}`` becomes the part of that name, indented like the line. Parts may have such
    lines, too. In a line ``name : type, default=...`` the dots become the default of that parameter
    of the constructor, and ``{class_name}`` is the name of the class everywhere.
    """

    def fill_part(match):
        indent, name = match.groups()
        lines = PLACEHOLDER.sub(fill_part, dedent(parts[name]).strip()).split("\n")
        return "\n".join(indent + line if line else "" for line in lines)

    def decorate(cls):
        # there is none with python -OO
        if cls.__doc__ is not None:
            parameters = inspect.signature(cls).parameters

            def fill_default(match):
                value = parameters[match[2]].default
                return match[1] + (f'"{value}"' if isinstance(value, str) else repr(value))

            filled = DEFAULT.sub(fill_default, PLACEHOLDER.sub(fill_part, cls.__doc__))
            cls.__doc__ = filled.replace("{class_name}", cls.__name__)
        return cls

    return decorate
