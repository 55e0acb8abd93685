"""Settings drawn at random go with a session to a host that had no replica, and through a suspension."""

import os
import random

from notebook import Notebook
from ways import operate, question

from python.tests.drawn_settings import draw

_COUNT = 25


def test_each_is_as_before(notebook: Notebook) -> None:
    seed = int(os.environ.get("BANYAN_SETTINGS_SEED", random.SystemRandom().randrange(10**9)))
    print(f"BANYAN_SETTINGS_SEED={seed}")
    rng = random.Random(seed)
    settings = [draw(rng) for _ in range(_COUNT)]
    for setting in settings:
        notebook.ok(setting.before)
        notebook.ok(setting.change)
    before = [notebook.value(setting.look) for setting in settings]
    for way in ("migration to another host", "suspension"):
        what, body = question(notebook, way)
        answer = operate(notebook, what, **body)
        assert answer.status_code == 200, answer.text
        assert answer.json()["lost"] == [], f"{way}, seed {seed}"
        for setting, was in zip(settings, before, strict=True):
            found = notebook.value(setting.look)
            assert found == was, f"{way}, seed {seed}: {setting} is {found}, not {was}"
