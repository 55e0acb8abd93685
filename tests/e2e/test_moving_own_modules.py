"""The user's own modules come along when a session moves or is suspended, also to a place without their files."""

import requests
from harness.client import Connection, Gateway, wait_until
from harness.platform import Platform

MODULE = "n = 0\\ncfg = {}\\ndef init(k):\\n    global n\\n    n = k\\n    cfg[k] = cfg\\n"
SETUP = f"""
import os, sys, tempfile
folder = tempfile.mkdtemp(); sys.path.insert(0, folder)
with open(os.path.join(folder, 'own33g.py'), 'w') as file: _ = file.write('{MODULE}')
del file
import own33g
"""


def operate(gateway: Gateway, kernel: str, what: str, **body: object) -> requests.Response:
    return gateway.call("POST", f"/api/banyan/sessions/{kernel}/{what}", json=body, timeout=120)


def test_to_hosts_with_and_without_a_replica_and_through_a_suspension(
    platform: Platform, kernel: str, session: Connection
) -> None:
    gateway = platform.gateway
    session.run(SETUP)
    session.run("from own33g import cfg; own33g.init(1)")
    assert session.run("import shutil; shutil.rmtree(folder); os.listdir(folder)").reply["ename"] == "FileNotFoundError"
    for number, members in enumerate((True, False)):
        wait_until(lambda: len(gateway.session(kernel)["replicas"]) == 3, "three replicas")
        hosts = {each["host"] for each in gateway.session(kernel)["replicas"]}
        others = set(gateway.hosts_up()) - {gateway.executor(kernel)}
        target = min(others & hosts if members else others - hosts)
        response = operate(gateway, kernel, "migrate", host=target)
        assert response.status_code == 200, response.text
        assert response.json().get("lost", []) == []
        look = session.run("own33g.n, own33g.cfg is cfg, sorted(cfg), cfg[1] is cfg", timeout=60)
        assert look.result == f"({number + 1}, True, {[*range(1, number + 2)]}, True)"
        session.run(f"own33g.init({number + 2})")
    assert operate(gateway, kernel, "suspend").status_code == 200
    wait_until(lambda: gateway.session(kernel)["state"] == "suspended", "it is suspended")
    assert session.run("own33g.n, sorted(cfg)", timeout=60).result == "(3, [1, 2, 3])"
