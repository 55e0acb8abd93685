"""Entries with the time and an identity of their own: a diary that no second run writes alike."""

# differs

# %%
import time
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone


@dataclass
class Entry:
    text: str
    when: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    key: uuid.UUID = field(default_factory=uuid.uuid4)


diary = []

# %%
for text in ("began", "read the data", "went for a walk"):
    diary.append(Entry(text))
    time.sleep(0.002)
by_key = {entry.key: entry for entry in diary}

# %%
took = [(after.when - before.when).microseconds for before, after in zip(diary, diary[1:], strict=False)]
newest = max(diary, key=lambda entry: entry.when)
newest is diary[-1], all(by_key[entry.key] is entry for entry in diary)
