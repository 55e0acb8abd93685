"""Settings drawn at random go with a session to a host that had no replica, and through a suspension."""

import os
import random

from notebook import Notebook
from ways import operate, question

from python.tests.drawn_settings import draw

_COUNT = 25


def test_each_is_as_before_or_its_loss_was_named_before(notebook: Notebook) -> None:
    seed = int(os.environ.get("BANYAN_SETTINGS_SEED", random.SystemRandom().randrange(10**9)))
    print(f"BANYAN_SETTINGS_SEED={seed}")
    rng = random.Random(seed)
    settings = [draw(rng) for _ in range(_COUNT)]
    told = ""
    for setting in settings:
        notebook.ok(setting.before)
        told += notebook.ok(setting.change).stderr
    before = [notebook.value(setting.look) for setting in settings]
    for way in ("migration to another host", "suspension"):
        what, body = question(notebook, way)
        answer = operate(notebook, what, force=True, **body)
        assert answer.status_code == 200, answer.text
        unnamed = [each["name"] for each in answer.json()["lost"] if each["name"] not in told]
        assert not unnamed, f"{way}, seed {seed}: {unnamed}"
        for setting, was in zip(settings, before, strict=True):
            found = notebook.value(setting.look)
            assert found == was or answer.json()["lost"], f"{way}, seed {seed}: {setting} is {found}, not {was}"
