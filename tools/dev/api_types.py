"""The types of the API in Python and in TypeScript, written from its description (`banyan openapi`).

    PYTHONPATH=tools .venv/bin/python -m dev.api_types

writes them anew, after `src/core/api`, `src/core/session/questions.h` or `answers.h` has changed.
"""

import json
import keyword
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dev.paths import LAB_EXTENSION, ROOT, binary

Schema = Mapping[str, Any]

COMMAND = "PYTHONPATH=tools .venv/bin/python -m dev.api_types"
_REF = "#/components/schemas/"
# What magics ask for and get beside what REST describes is in the description by these names.
_OF_MAGICS = ("copy", "migrate", "suspend")
_TO_MAGICS = ("Suspended", "copy_answer", "migrate_answer")


def description() -> dict[str, Any]:
    """What the program of the release build says."""
    shown = subprocess.run([binary(), "openapi"], check=True, capture_output=True, text=True)
    document: dict[str, Any] = json.loads(shown.stdout)
    return document


def written(document: Schema) -> dict[Path, str]:
    """Each file and what is in it."""
    return {
        ROOT / "python" / "banyan" / "notebook" / "api.py": python(document),
        LAB_EXTENSION / "src" / "api.ts": typescript(document),
    }


def python(document: Schema) -> str:
    """The questions about a session and their answers, as TypedDicts. Only type checkers read them."""
    asked = _body(document, "history", "requestBody")
    answers = _body(document, "history", "responses", "200")
    roots = [*_refs(asked), *_OF_MAGICS, *_refs(answers), *_TO_MAGICS]
    types = [_python_type(name, schema) for name, schema in _closure(document, roots)]
    questions = [_title(name) for name in [*_refs(asked), *_OF_MAGICS]]
    return "\n".join(
        [
            '"""Questions about a session and their answers (docs/internals/history.md), for type checkers only.',
            "",
            f"Written by `{COMMAND}`.",
            '"""',
            "",
            "from typing import Any, Literal, NotRequired, TypedDict, final",
            *types,
            "",
            "",
            "Question = (",
            f"    {questions[0]}",
            *[f"    | {name}" for name in questions[1:]],
            ")",
            "",
        ]
    )


def typescript(document: Schema) -> str:
    """What the JupyterLab extension asks for, as interfaces."""
    roots = _refs(_body(document, "cells", "responses", "200"))
    types = [_typescript_type(name, schema) for name, schema in _closure(document, roots)]
    head = [
        "// The answers of Banyan's REST API that this extension reads.",
        f"// Written by `{COMMAND}`.",
        "",
        "import type { JSONObject } from '@lumino/coreutils';",
    ]
    return "\n".join([*head, "", "\n".join(types)])


def _body(document: Schema, operation_id: str, *path: str) -> Schema:
    for methods in document["paths"].values():
        for operation in methods.values():
            if operation["operationId"] == operation_id:
                part = operation
                for step in path:
                    part = part[step]
                schema: Schema = part["content"]["application/json"]["schema"]
                return schema
    raise KeyError(operation_id)


def _refs(schema: Any) -> list[str]:
    """The names to which a schema refers itself, in order."""
    if isinstance(schema, Mapping):
        own = [schema["$ref"].removeprefix(_REF)] if "$ref" in schema else []
        return own + [name for part in schema.values() for name in _refs(part)]
    if isinstance(schema, Sequence) and not isinstance(schema, str):
        return [name for part in schema for name in _refs(part)]
    return []


def _closure(document: Schema, roots: Sequence[str]) -> Iterator[tuple[str, Schema]]:
    """The schemas of these names and of all that they refer to, each once and after what it refers to."""
    schemas: Schema = document["components"]["schemas"]
    titles = {_title(name) for name in schemas}
    if len(titles) < len(schemas):
        raise ValueError("two types of the API would have one name here")
    seen: set[str] = set()

    def visit(name: str) -> Iterator[tuple[str, Schema]]:
        if name in seen:
            return
        seen.add(name)
        for other in _refs(schemas[name]):
            yield from visit(other)
        yield name, schemas[name]

    for root in roots:
        yield from visit(root)


def _title(name: str) -> str:
    """`log_answer` as a type is named: LogAnswer."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _fields(schema: Schema) -> Iterator[tuple[str, Schema, bool]]:
    """Each field: its name, its schema, and whether it is always there. `do` comes first."""
    for field in sorted(schema["properties"], key=lambda field: field != "do"):
        yield field, schema["properties"][field], field in schema["required"]


def _python_type(name: str, schema: Schema) -> str:
    title = _title(name)
    fields = []
    for field, of_field, always in _fields(schema):
        text = _python(of_field)
        fields.append((field, text if always else f"NotRequired[{text}]", of_field.get("description", "")))
    if any(keyword.iskeyword(field) for field, _, _ in fields):
        lines = [f"{title} = TypedDict(", f'    "{title}",', "    {"]
        for field, text, comment in fields:
            lines += [f"        # {comment}"] if comment else []
            lines.append(f'        "{field}": {text},')
        return "\n".join(["", "", *lines, "    },", ")"])
    lines = ["", "", "@final", f"class {title}(TypedDict):"]
    for field, text, comment in fields:
        lines += [f"    # {comment}"] if comment else []
        lines.append(f"    {field}: {text}")
    return "\n".join(lines if fields else [*lines, "    pass"])


def _python(schema: Schema) -> str:
    match schema:
        case {"$ref": name}:
            return _title(name.removeprefix(_REF))
        case {"anyOf": several}:
            return " | ".join(_python(one) for one in several)
        case {"const": value}:
            return f"Literal[{value!r}]".replace("'", '"')
        case {"enum": words}:
            return f"Literal[{', '.join(json.dumps(word) for word in words)}]"
        case {"type": "array", "items": items}:
            return f"list[{_python(items)}]"
        case {"type": "object", "additionalProperties": inner}:
            return f"dict[str, {_python(inner)}]"
        case {"type": "object"}:
            return "dict[str, Any]"
        case {"type": simple}:
            return {"string": "str", "boolean": "bool", "integer": "int", "number": "float", "null": "None"}[simple]
    return _anything(schema, "Any")


def _typescript_type(name: str, schema: Schema) -> str:
    lines = [f"export interface I{_title(name)} {{"]
    for field, of_field, always in _fields(schema):
        if comment := of_field.get("description", ""):
            lines.append(f"  /** {comment[:1].upper()}{comment[1:]}. */")
        lines.append(f"  readonly {field}{'' if always else '?'}: {_typescript(of_field)};")
    return "\n".join([*lines, "}", ""])


def _typescript(schema: Schema) -> str:
    match schema:
        case {"$ref": name}:
            return "I" + _title(name.removeprefix(_REF))
        case {"anyOf": several}:
            return " | ".join(_typescript(one) for one in several)
        case {"const": value}:
            return json.dumps(value).replace('"', "'")
        case {"enum": words}:
            return " | ".join(f"'{word}'" for word in words)
        case {"type": "array", "items": items}:
            item = _typescript(items)
            return f"readonly {f'({item})' if ' ' in item else item}[]"
        case {"type": "object", "additionalProperties": inner}:
            return f"Readonly<Record<string, {_typescript(inner)}>>"
        case {"type": "object"}:
            return "JSONObject"
        case {"type": simple}:
            return {"string": "string", "boolean": "boolean", "null": "null", "integer": "number", "number": "number"}[
                simple
            ]
    return _anything(schema, "unknown")


def _anything(schema: Schema, name: str) -> str:
    """The type of a value of which nothing is said. Raises ValueError for a schema that this does not know."""
    if said := set(schema) - {"description"}:
        raise ValueError(f"a schema with {', '.join(sorted(said))} has no type here yet: teach dev.api_types")
    return name


def main() -> None:
    for path, text in written(description()).items():
        path.write_text(text)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
