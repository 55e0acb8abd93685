"""Results that come in: a table that grows in place, and shares that are computed anew."""

# %%
import pandas as pd

districts = {"north": 52_000, "south": 61_000, "east": 38_000, "west": 47_000, "centre": 90_000}
parties = ["red", "blue", "green", "grey"]
results = pd.DataFrame(0, index=pd.Index(districts, name="district"), columns=parties)
results

# %%
results.loc["east"] = [9_000, 7_500, 3_300, 1_100]
results.loc["west"] = [8_100, 10_400, 4_000, 900]
results

# %%
results["counted"] = results[parties].sum(axis=1)
results["turnout"] = results["counted"] / pd.Series(districts)
results.round(3)

# %%
results.loc["north", parties] = [14_000, 12_000, 6_000, 2_000]
results["counted"] = results[parties].sum(axis=1)
share = results[parties].sum() / results[parties].to_numpy().sum()
share.round(3)


# %%
def seats(votes, total=21):
    """By highest averages."""
    given = dict.fromkeys(votes.index, 0)
    for _ in range(total):
        winner = max(votes.index, key=lambda party: votes[party] / (given[party] + 1))
        given[winner] += 1
    return given


council = seats(results[parties].sum())
council

# %%
del results["turnout"]
results.drop(index=["centre", "south"], inplace=True)
final = results
final
