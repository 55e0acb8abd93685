"""The API as it describes itself (OpenAPI), against what the gateway answers: each operation is tried."""

import copy
import json
import subprocess
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from dev import api_types
from harness.client import Connection, Gateway
from harness.platform import binary
from jsonschema import Draft202012Validator

_ID = "00000000-0000-4000-8000-00000000abcd"


class Described:
    """Calls operations by their ids, and checks each answer against the description."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.document = gateway.get("/api/banyan/openapi.json")
        self.tried: set[str] = set()
        self.operations = {
            operation["operationId"]: (method.upper(), path, operation)
            for path, methods in self.document["paths"].items()
            for method, operation in methods.items()
        }

    def call(self, operation_id: str, expect: int = 200, **options: Any) -> Any:
        """The answer, JSON where it is some. `parts` fills the path, `query` is the query."""
        method, path, operation = self.operations[operation_id]
        self.tried.add(operation_id)
        parts = options.pop("parts", {})
        assert set(parts) == {one["name"] for one in operation.get("parameters", []) if one["in"] == "path"}
        answer = self.gateway.call(method, path.format(**parts), params=options.pop("query", None), **options)
        assert answer.status_code == expect, f"{operation_id}: {answer.status_code} {answer.text}"
        described = operation["responses"].get(str(expect)) or operation["responses"]["default"]
        return self._check(operation_id, answer, described)

    def _check(self, operation_id: str, answer: requests.Response, described: dict[str, Any]) -> Any:
        content = described.get("content", {})
        if not content:
            assert not answer.content, f"{operation_id} answers what is not described"
            return None
        if "application/json" not in content:
            return answer.content
        assert answer.headers["Content-Type"].startswith("application/json")
        schema = content["application/json"]["schema"]
        errors = list(Draft202012Validator(self._closed(schema)).iter_errors(answer.json()))
        assert not errors, f"{operation_id}: {errors[0].message} at {list(errors[0].absolute_path)}"
        return answer.json()

    def _closed(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The same, without fields that are not described."""
        components = copy.deepcopy(self.document["components"])
        for one in components["schemas"].values():
            if "properties" in one:
                one["additionalProperties"] = False
        return schema | {"components": components}


@pytest.fixture
def api(gateway: Gateway) -> Iterator[Described]:
    yield Described(gateway)


def test_the_description_is_in_order(api: Described) -> None:
    assert api.document["openapi"].startswith("3.1")
    ids = [one["operationId"] for methods in api.document["paths"].values() for one in methods.values()]
    assert len(ids) == len(set(ids)) > 30
    for schema in api.document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    for _, _, operation in api.operations.values():
        assert operation["summary"].endswith(".")
        for parameter in operation.get("parameters", []):
            assert parameter["description"], f"{parameter['name']} of {operation['operationId']} is not explained"


def test_the_types_in_python_and_typescript_follow_from_the_description(api: Described) -> None:
    for path, text in api_types.written(api.document).items():
        assert path.read_text() == text, f"{path} is out of date; this writes it anew: {api_types.COMMAND}"


def test_the_program_describes_the_api_without_a_gateway(api: Described) -> None:
    shown = subprocess.run([binary(), "openapi"], check=True, capture_output=True, text=True)
    assert json.loads(shown.stdout) == api.document


def test_every_operation_answers_as_described(
    api: Described, gateway: Gateway, kernel: str, session: Connection
) -> None:
    session.run("import numpy as np; a = np.arange(100_000); b = 1")
    of_kernel, of_session = {"kernel": kernel}, {"session": kernel}
    for listing in (
        *("version", "serverStatus", "me", "kernels", "notebooks", "status", "hosts", "sessions", "openapi"),
        *("gpus", "queue", "metrics"),
    ):
        api.call(listing)
    api.call("kernel", parts=of_kernel)
    api.call("interruptKernel", 204, parts=of_kernel)
    api.call("channels", 400, parts=of_kernel)

    specs = api.call("kernelSpecs")
    api.call("kernelSpec", parts={"spec": specs["default"]})
    logo = next(path for spec in specs["kernelspecs"].values() for path in spec["resources"].values())
    assert api.call("kernelSpecFile", parts=dict(zip(("spec", "file"), logo.split("/")[2:], strict=True)))

    made = api.call("newNotebook", 201, json={"path": f"{kernel}.ipynb", "type": "notebook", "kernel": {"id": kernel}})
    of_notebook = {"notebook": made["id"]}
    assert api.call("changeNotebook", parts=of_notebook, json={"name": "renamed"})["name"] == "renamed"
    assert api.call("notebook", parts=of_notebook)["kernel"]["id"] == kernel

    assert "cells" in api.call("cells", parts=of_session, query={"after": 0})
    assert "commits" in api.call("history", parts=of_session, json={"do": "log"})
    assert api.call("exportSession", parts=of_session, query={"values": "all"})

    away = next(row["host"] for row in api.call("hosts") if row["host"] != gateway.executor(kernel))
    assert api.call("moveSession", parts=of_session, json={"host": away})["host"] == away
    assert api.call("suspendSession", parts=of_session, json={})["suspended"]
    assert not api.call("resumeSession", parts=of_session)["suspended"]
    api.call("restartKernel", parts=of_kernel)
    api.call("endNotebook", 204, parts=of_notebook)

    api.call("drainHost", 404, parts={"host": "nowhere"})
    api.call("removeHost", 404, parts={"host": "nowhere"})
    api.call("addHost", 404, json={"host": "nowhere"})
    api.call("endStray", 404, parts={"session": _ID})

    other = api.call("newKernel", 201, json={"name": "python3"})["id"]
    upload = {"upload": str(uuid.uuid4())}
    api.call("bringChunk", 400, parts={"session": other, "digest": "0" * 32}, data=b"another", query=upload)
    api.call("importSession", 400, parts={"session": other}, data=b"no state", query=upload)
    api.call("chunk", 404, parts={"session": other, "digest": "0" * 32})
    api.call("endKernel", 204, parts={"kernel": other})
    assert api.tried == set(api.operations)


def test_what_cells_have_put_out_is_as_described(api: Described, kernel: str, session: Connection) -> None:
    of_session = {"session": kernel}
    session.run("from IPython.display import display\nshown = display(1, display_id=True)", cell_id="a")
    session.run("shown.update(2)", cell_id="b")
    session.run("for number in range(40):\n    print('x' * 50_000, flush=True)", cell_id="b")
    running = session.start("print('so far')\nname = input('name? ')", stdin=True, cell_id="c")
    asked = session.wait_for(lambda m: m.type == "input_request")
    answer = api.call("cells", parts=of_session, query={"after": 0})
    assert answer["input"]["content"]["prompt"] == "name? "
    assert [one["execution"] for one in answer["waiting"]] == [running]
    by_cell = {one.get("cell_id", "replaced"): one for one in answer["cells"]}
    assert list(by_cell) == ["a", "replaced", "b", "c"]
    assert by_cell["replaced"]["replaced"] is True
    assert by_cell["replaced"]["outputs"][0]["msg_type"] == "update_display_data"
    assert by_cell["b"]["outputs"][-1]["missing"] > 0
    assert by_cell["c"]["status"] == "running"
    session.send("stdin", "input_reply", {"status": "ok", "value": "you"}, parent=asked)
    session.finish(running)


@pytest.mark.parametrize(
    ("operation", "body", "said"),
    [
        ("newKernel", "{", "not valid JSON"),
        ("newKernel", "[]", "The body must be a JSON object."),
        ("newKernel", '{"name": 7}', "'name' must be a text."),
        ("newKernel", '{"env": {"A": 1}}', "'env.A' must be a text."),
        ("newNotebook", '{"path": "p", "kernel": {"id": []}}', "'kernel.id' must be a text."),
        ("addHost", "{}", "'host' must be a text."),
    ],
)
def test_what_is_wrong_with_a_body_is_said(api: Described, operation: str, body: str, said: str) -> None:
    assert said in api.call(operation, 400, data=body)["message"]


def test_what_is_not_there_names_the_description(gateway: Gateway) -> None:
    assert "openapi.json" in gateway.call("GET", "/api/nothing").json()["message"]
    assert gateway.call("PUT", "/api/kernels").json()["message"] == "Use GET or POST."
