"""The layers core and node do no I/O, start no thread, read no clock, draw no global randomness, and keep nothing in an
order that the standard library chooses."""

import re

from tidy.tree import File, Finding, Tree

_INPUT_OUTPUT = "does I/O; hand the bytes in as an event or out as an effect"
_THREADS = "belongs to threads; core and node have none"
_CLOCK = "reads a clock; take Now from the step"
_RANDOM = "is global randomness; draw from the Rng that you are given"
_ENVIRONMENT = "reads the process's surroundings; take a configuration"

_HEADERS = {
    _INPUT_OUTPUT: (
        r"fstream|iostream|filesystem|syncstream|unistd\.h|fcntl\.h|poll\.h|netdb\.h|dirent\.h|sys/.*"
        r"|netinet/.*|arpa/.*|boost/asio.*|boost/beast.*|boost/process.*"
        r"|rocksdb/.*|zmq.*|sqlite3\.h|curl/.*|spdlog/.*"
    ),
    _THREADS: (
        r"thread|mutex|shared_mutex|condition_variable|future|atomic|semaphore|latch|barrier|stop_token|pthread\.h"
    ),
    _RANDOM: r"random|boost/random.*|openssl/rand\.h",
}
_WORDS = {
    _INPUT_OUTPUT: r"\b(?:f|v|d)?printf\s*\(|\bstd::c(?:out|err|in|log)\b|\b(?:fopen|fwrite|fread)\s*\(",
    _THREADS: (
        r"\bstd::(?:jthread|thread|mutex|atomic|async|condition_variable)\b|\bthread_local\b"
        r"|\bco_(?:await|yield)\b"
    ),
    _CLOCK: (
        r"\b(?:system|steady|high_resolution|utc|file)_clock\b|\b(?:clock_gettime|gettimeofday)\s*\("
        r"|\b(?:local|mk)time(?:_r)?\s*\(|\b(?:std::)?time\s*\(\s*(?:NULL|nullptr|0)\s*\)|\bsleep(?:_for|_until)?\s*\("
    ),
    _RANDOM: r"\bs?rand\s*\(|\brandom_device\b|\bmt19937\b|\barc4random\w*\s*\(|\bRAND_bytes\b|\bgetrandom\s*\(",
    _ENVIRONMENT: r"\b(?:secure_)?getenv\s*\(|\bsetenv\s*\(|\bgetpid\s*\(|\bsystem\s*\(",
}
_INCLUDE = re.compile(r"^\s*#\s*include\s+[<\"]([^>\"]+)[>\"]")
_UNORDERED = re.compile(r"\bunordered_(?:multi)?(?:map|set)\b")
_REASON = re.compile(r"//\s*unordered: \S+")


def check(tree: Tree) -> list[Finding]:
    return [finding for file in tree.cpp("src/core", "src/node") if not file.is_test for finding in _check_file(file)]


def _check_file(file: File) -> list[Finding]:
    findings = []
    for number, line in enumerate(file.code, 1):
        if found := _INCLUDE.match(line):
            for why, headers in _HEADERS.items():
                if re.fullmatch(headers, found[1]):
                    findings.append(Finding(file.path, number, f"<{found[1]}> {why}"))
        else:
            for why, words in _WORDS.items():
                if word := re.search(words, line):
                    findings.append(Finding(file.path, number, f"{word[0].strip(' (')} {why}"))
        if _UNORDERED.search(line) and not any(
            _REASON.search(near) for near in file.lines[max(0, number - 2) : number]
        ):
            text = "an unordered container: its order can leak; use std::map, or say '// unordered: WHY' on this line"
            findings.append(Finding(file.path, number, text))
    return findings
