"""What is written of schemas; tests/e2e/test_openapi.py holds the files of the tree against the real document."""

from typing import Any

import pytest

from dev import api_types


def _document(**schemas: Any) -> dict[str, Any]:
    def body(*names: str) -> dict[str, Any]:
        refs = [{"$ref": f"#/components/schemas/{name}"} for name in names]
        return {"content": {"application/json": {"schema": {"anyOf": refs}}}}

    def empty(name: str) -> dict[str, Any]:
        return {"properties": {"do": {"const": name}}, "required": ["do"]}

    magics = {
        name: empty(name) for name in ("copy", "migrate", "suspend", "Suspended", "copy_answer", "migrate_answer")
    }
    return {
        "paths": {
            "/history": {
                "post": {"operationId": "history", "requestBody": body("diff"), "responses": {"200": body("log")}}
            },
            "/cells": {"get": {"operationId": "cells", "responses": {"200": body("log")}}},
        },
        "components": {"schemas": {"diff": empty("diff"), "log": empty("log"), **magics, **schemas}},
    }


def _object(**properties: Any) -> dict[str, Any]:
    return {"properties": properties, "required": [name for name in properties if not name.startswith("maybe")]}


def test_each_kind_of_value_has_a_type() -> None:
    document = _document(
        row=_object(at={"type": "number"}),
        log=_object(
            rows={"type": "array", "items": {"anyOf": [{"$ref": "#/components/schemas/row"}, {"type": "null"}]}},
            times={"type": "object", "additionalProperties": {"type": "integer"}},
            any={"description": "whatever it is"},
            status={"enum": ["ok", "error"]},
            yes={"const": True},
            maybe={"type": "string"},
        ),
    )
    python, typescript = api_types.python(document), api_types.typescript(document)
    for line in (
        "rows: list[Row | None]",
        "times: dict[str, int]",
        "# whatever it is",
        "any: Any",
        'status: Literal["ok", "error"]',
        "yes: Literal[True]",
        "maybe: NotRequired[str]",
    ):
        assert f"    {line}\n" in python
    for line in (
        "rows: readonly (IRow | null)[]",
        "times: Readonly<Record<string, number>>",
        "any: unknown",
        "status: 'ok' | 'error'",
        "yes: true",
        "maybe?: string",
    ):
        assert f"  readonly {line};\n" in typescript
    assert python.index("class Row") < python.index("class Log"), "a type comes after those that it refers to"


def test_what_is_written_is_python() -> None:
    names: dict[str, Any] = {}
    exec(api_types.python(_document(diff=_object(**{"from": {"type": "string"}, "do": {"const": "diff"}}))), names)
    assert names["Diff"].__required_keys__ == {"do", "from"}
    assert names["Question"] is not None


def test_a_schema_that_it_does_not_know_is_not_passed_over() -> None:
    with pytest.raises(ValueError, match="oneOf"):
        api_types.python(_document(log=_object(a={"oneOf": [{"type": "string"}]})))


def test_two_types_never_get_one_name() -> None:
    with pytest.raises(ValueError, match="one name"):
        api_types.python(_document(Log=_object()))
