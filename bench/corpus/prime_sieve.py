"""A search that takes seconds and ends with a few numbers."""

# %%
limit = 200_000


def is_prime(n):
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


# %%
primes = [n for n in range(limit) if is_prime(n)]
len(primes)

# %%
twins = [(p, p + 2) for p, q in zip(primes, primes[1:], strict=False) if q - p == 2]
gaps = {}
for p, q in zip(primes, primes[1:], strict=False):
    gaps[q - p] = gaps.get(q - p, 0) + 1
max(gaps)

# %%
known = set(primes)
sums = {}
for even in range(4, 6_000, 2):
    sums[even] = sum(1 for p in primes if p <= even // 2 and even - p in known)
hardest = min(sums, key=lambda n: (sums[n], -n))
hardest

# %%
del known, p, q
result = {"primes": len(primes), "twins": len(twins), "widest gap": max(gaps)}
primes = primes[-10:]
result
