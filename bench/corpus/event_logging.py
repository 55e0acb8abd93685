"""A logger with a handler that keeps records in a list, and a stream in memory."""

# %%
import io
import logging

kept = []


class Keeping(logging.Handler):
    def emit(self, record):
        kept.append((record.levelname, record.getMessage()))


# %%
stream = io.StringIO()
log = logging.getLogger("corpus.events")
log.setLevel(logging.DEBUG)
log.propagate = False
log.addHandler(Keeping())
log.addHandler(logging.StreamHandler(stream))

# %%
for n in range(50):
    log.log(logging.WARNING if n % 7 == 0 else logging.DEBUG, "event %d", n)
len(kept)

# %%
warnings = [text for level, text in kept if level == "WARNING"]
stream.write("the end\n")
warnings[-1], len(stream.getvalue())
