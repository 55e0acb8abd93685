"""Behaviours 1 to 11: which variables share objects, and that they share them again after a failover or a checkout."""

from story import Story, story


@story
def test_01_identity_survives() -> Story:
    """(1) `a is b` survives undo and migration."""
    return Story(
        setup="a01 = [1]; b01 = a01",
        change="a01.append(2)",
        check="a01 is b01, b01",
        before="(True, [1])",
        after="(True, [1, 2])",
        changes="a01 b01",
        groups="a01 b01",
    )


@story
def test_02_a_change_through_a_nested_container_is_seen() -> Story:
    """(2) A change made through a nested container is seen."""
    return Story(
        setup="inner02 = [1]; outer02 = {'k': (inner02,)}",
        change="outer02['k'][0].append(2)",
        check="outer02['k'][0] is inner02, inner02",
        before="(True, [1])",
        after="(True, [1, 2])",
        changes="inner02 outer02",
        groups="inner02 outer02",
    )


@story
def test_02_a_change_through_an_attribute_of_an_element_is_seen() -> Story:
    """(2) A change made through a nested container is seen: an object in a list in a dict."""
    return Story(
        setup="import types; leaf02 = types.SimpleNamespace(v=1); tree02 = {'all': [leaf02]}",
        change="tree02['all'][0].v = 2",
        check="tree02['all'][0] is leaf02, leaf02.v",
        before="(True, 1)",
        after="(True, 2)",
        changes="leaf02 tree02",
    )


@story
def test_03_a_list_in_itself() -> Story:
    """(3) Cycles: a list that holds itself."""
    return Story(
        setup="ring03 = [1]; ring03.append(ring03)",
        change="ring03[0] = 2",
        check="ring03[1] is ring03, ring03[1][1][0]",
        before="(True, 1)",
        after="(True, 2)",
        changes="ring03",
    )


@story
def test_03_objects_that_refer_to_each_other() -> Story:
    """(3) Cycles: two variables whose objects refer to each other."""
    return Story(
        setup=(
            "class Node03:\n    pass\n"
            "left03, right03 = Node03(), Node03()\nleft03.peer, right03.peer, left03.v = right03, left03, 1"
        ),
        change="right03.peer.v = 2",
        check="left03.peer is right03, right03.peer is left03, left03.v",
        before="(True, True, 1)",
        after="(True, True, 2)",
        changes="left03 right03",
        groups="left03 right03",
    )


@story
def test_04_co_variables_merge() -> Story:
    """(4) Co-variables merge."""
    return Story(
        setup="x04, y04, z04 = [1], [2], [3]",
        change="y04.append(x04)",
        check="any(item is x04 for item in y04), z04",
        before="(False, [3])",
        after="(True, [3])",
        changes="x04 y04",
        groups="x04 y04, z04",
    )


@story
def test_04_co_variables_split() -> Story:
    """(4) Co-variables split."""
    return Story(
        setup="p04 = [1]; q04 = [p04]",
        change="q04[0] = list(p04)",
        check="q04[0] is p04, q04",
        before="(True, [[1]])",
        after="(False, [[1]])",
        groups="p04, q04",
    )


@story
def test_04_co_variables_exchange_a_member() -> Story:
    """(4) Co-variables exchange a member."""
    return Story(
        setup="m04, n04 = [1], [2]; first04, second04 = [m04], [n04]",
        change="first04[0], second04[0] = second04[0], first04[0]",
        check="first04[0] is m04, first04[0] is n04, second04[0] is m04, first04, second04",
        before="(True, False, False, [[1]], [[2]])",
        after="(False, True, True, [[2]], [[1]])",
        groups="first04 n04, second04 m04",
    )


@story
def test_05_deleting_a_member_keeps_the_rest() -> Story:
    """(5) Deleting a member keeps the rest."""
    return Story(
        setup="a05 = [1]; b05 = [a05]; c05 = {'a': a05}",
        change="del a05",
        check=(
            "b05, c05, b05[0] is c05['a'], "
            "[name for name in get_ipython().run_line_magic('who_ls', '') if name.endswith('05')]"
        ),
        before="([[1]], {'a': [1]}, True, ['a05', 'b05', 'c05'])",
        after="([[1]], {'a': [1]}, True, ['b05', 'c05'])",
        groups="b05 c05",
    )


@story
def test_06_equal_small_values_are_no_link() -> Story:
    """(6) Equal small ints are no link; nor are strings, tuples of them, None and types."""
    return Story(
        setup=(
            "i06 = j06 = 5; s06 = t06 = 'text'; u06 = v06 = (1, 'a'); n06 = m06 = None; k06 = l06 = int; f06 = g06 = .5"
        ),
        change="i06 += 1; s06 += '!'",
        check="i06, j06, s06, t06, u06 == v06",
        before="(5, 5, 'text', 'text', True)",
        after="(6, 5, 'text!', 'text', True)",
        changes="i06 s06",
        groups="i06, j06, s06, t06, u06, v06, n06, m06, k06, l06, f06, g06",
    )


@story
def test_07_unrelated_arrays_are_no_link() -> Story:
    """(7) Unrelated arrays are no link, though they have the same dtype."""
    return Story(
        setup="import numpy as np; a07, b07, c07 = np.zeros(3), np.zeros(3), np.array(['x', None], dtype=object)",
        change="a07[0] = 9",
        check="a07.tolist(), b07.tolist()",
        before="([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])",
        after="([9.0, 0.0, 0.0], [0.0, 0.0, 0.0])",
        changes="a07",
        groups="a07, b07, c07",
    )


@story
def test_07_unrelated_frames_are_no_link() -> Story:
    """(7) Unrelated frames are no link, though they share column names, dtypes and an index."""
    return Story(
        setup=(
            "import pandas as pd; f07 = pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']}); "
            "g07 = pd.DataFrame({'a': [3, 4], 'b': ['x', 'y']}, index=f07.index); "
            "h07 = pd.Series(['p', 'q'], dtype='category'); k07 = pd.Series(['p', 'q'], dtype='category')"
        ),
        change="f07.loc[0, 'a'] = 9",
        check="f07.a.tolist(), g07.a.tolist(), h07.tolist()",
        before="([1, 2], [3, 4], ['p', 'q'])",
        after="([9, 2], [3, 4], ['p', 'q'])",
        changes="f07",
        groups="f07, g07, h07, k07",
    )


@story
def test_07_unrelated_datetimes_are_no_link() -> Story:
    """(7) Unrelated datetimes are no link, nor are decimals, paths, patterns and members of an enum."""
    return Story(
        setup=(
            "import datetime, decimal, enum, pathlib, re\n"
            "zone07 = datetime.timezone.utc\n"
            "d07 = [datetime.datetime(2024, 1, 1, tzinfo=zone07)]; e07 = [d07[0]]\n"
            "n07 = [decimal.Decimal(1)]; m07 = [n07[0]]\n"
            "p07 = [pathlib.Path('a'), re.compile('x')]; q07 = list(p07)\n"
            "Colour07 = enum.Enum('Colour07', 'RED GREEN'); r07 = [Colour07.RED]; s07 = [Colour07.RED]"
        ),
        change="d07.append(1); n07.append(2); p07.append(3); r07.append(4)",
        check="len(d07), e07[0].year, m07, len(q07), s07[0] is Colour07.RED, s07[0] is r07[0]",
        before="(1, 2024, [Decimal('1')], 2, True, True)",
        after="(2, 2024, [Decimal('1')], 2, True, True)",
        changes="d07 n07 p07 r07",
        groups="d07, e07, n07, m07, p07, q07, r07, s07",
    )


@story
def test_07_types_modules_and_functions_are_no_link() -> Story:
    """(7) Never link on types, modules, dtypes, interned constants, nor on functions found by name."""
    return Story(
        setup=(
            "import math, numpy as np\n"
            "one07 = [math, dict, np.float64, np.dtype('f8'), math.sqrt, len, ..., 'interned', True]\n"
            "two07 = list(one07)"
        ),
        change="one07.append(1)",
        check="len(one07), all(x is y for x, y in zip(one07, two07) if not isinstance(x, (str, np.dtype)))",
        before="(9, True)",
        after="(10, True)",
        changes="one07",
        groups="one07, two07",
    )


@story
def test_07_instances_of_one_class_are_no_link() -> Story:
    """(7) Never link on types: instances of a class that a cell defined."""
    return Story(
        setup=("class Point07:\n    pass\nu07, w07 = Point07(), Point07()\nu07.v = w07.v = 1", "Point07, u07, w07"),
        change="u07.v = 2",
        check="u07.v, w07.v, type(u07) is type(w07) is Point07",
        before="(1, 1, True)",
        after="(2, 1, True)",
        changes="u07",
        groups="u07, w07, Point07",
    )


@story
def test_08_a_view_shares_memory() -> Story:
    """(8) A numpy view still shares memory after checkout, written from either side."""
    return Story(
        setup="import numpy as np; base08 = np.arange(6.0); view08 = base08[2:4]; turned08 = base08.reshape(2, 3).T",
        change="base08[2] = -1; view08[1] = -2; turned08[0, 0] = -3",
        check=(
            "np.shares_memory(base08, view08), np.shares_memory(view08, turned08), base08.tolist(), view08.tolist(), "
            "turned08.ravel().tolist(), view08.flags.writeable, turned08.strides"
        ),
        before=(
            "(True, True, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 3.0], [0.0, 3.0, 1.0, 4.0, 2.0, 5.0], True, (8, 24))"
        ),
        after=(
            "(True, True, [-3.0, 1.0, -1.0, -2.0, 4.0, 5.0], [-1.0, -2.0], [-3.0, -2.0, 1.0, 4.0, -1.0, 5.0], "
            "True, (8, 24))"
        ),
        changes="base08 view08 turned08",
        groups="base08 view08 turned08",
    )


@story
def test_08_a_view_whose_base_has_no_name() -> Story:
    """(8) Two views share memory although nothing else refers to what they are views of; big enough for a buffer."""
    return Story(
        setup="import numpy as np; low08, high08 = (lambda whole: (whole[:60_000], whole[40_000:]))(np.zeros(100_000))",
        change="low08[50_000] = 7",
        check="float(high08[10_000]), np.shares_memory(low08, high08), float(low08.sum())",
        before="(0.0, True, 0.0)",
        after="(7.0, True, 7.0)",
        changes="low08 high08",
        groups="low08 high08",
    )


@story
def test_08_a_memoryview_shares_memory() -> Story:
    """(8) A numpy array over a bytearray still shares memory after checkout."""
    return Story(
        setup="import numpy as np; bytes08 = bytearray(8); over08 = np.frombuffer(bytes08, dtype='u1')",
        change="bytes08[0] = 7",
        check="int(over08[0]), np.shares_memory(over08, np.frombuffer(bytes08, dtype='u1'))",
        before="(0, True)",
        after="(7, True)",
        changes="bytes08 over08",
    )


@story
def test_09_a_torch_view_shares_memory() -> Story:
    """(9) A torch view still shares memory after checkout."""
    return Story(
        setup="import torch; base09 = torch.arange(6.0); view09 = base09[2:4]",
        change="base09[2] = -1",
        check="view09.tolist(), view09.data_ptr() - base09.data_ptr()",
        before="([2.0, 3.0], 8)",
        after="([-1.0, 3.0], 8)",
        changes="base09 view09",
        groups="base09 view09",
        needs=["torch"],
    )


@story
def test_09_a_torch_tensor_shares_memory_with_an_array() -> Story:
    """(9) A torch tensor and the array that it was made from still share memory after checkout."""
    return Story(
        setup="import numpy as np, torch; array09 = np.arange(3.0); tensor09 = torch.from_numpy(array09)",
        change="array09[0] = 9",
        check="tensor09.tolist(), tensor09.data_ptr() == array09.ctypes.data",
        before="([0.0, 1.0, 2.0], True)",
        after="([9.0, 1.0, 2.0], True)",
        changes="array09 tensor09",
        needs=["torch", "torch; torch.zeros(1).numpy()"],  # a torch that was built for another numpy cannot make arrays
    )


@story
def test_10_a_series_of_a_frame() -> Story:
    """(10) A Series of a frame behaves as pandas says, as a copy on write, before and after a checkout."""
    return Story(
        setup="import pandas as pd; frame10 = pd.DataFrame({'a': [1, 2], 'b': [3.0, 4.0]}); series10 = frame10['a']",
        change="frame10.loc[0, 'a'] = 9",
        check="frame10.a.tolist(), series10.tolist(), series10.name, series10.index.equals(frame10.index)",
        before="([1, 2], [1, 2], 'a', True)",
        after="([9, 2], [1, 2], 'a', True)",
        changes="frame10",
    )


@story
def test_10_writing_to_the_series_leaves_the_frame() -> Story:
    """(10) A Series of a frame: a write to the Series does not reach the frame, also when both were restored."""
    return Story(
        setup=(
            "import pandas as pd; table10 = pd.DataFrame({'a': [1, 2]}); column10 = table10['a']; part10 = table10[:1]"
        ),
        change="column10.iloc[0] = 9; part10.iloc[0, 0] = 8",
        check="table10.a.tolist(), column10.tolist(), part10.a.tolist()",
        before="([1, 2], [1, 2], [1])",
        after="([1, 2], [9, 2], [8])",
        changes="column10 part10",
    )


@story
def test_10_a_frame_over_an_array() -> Story:
    """(10) A frame made without a copy shares the array's memory, as it did before the checkout."""
    return Story(
        setup="import numpy as np, pandas as pd; array10 = np.zeros(2); over10 = pd.DataFrame(array10, copy=False)",
        change="array10[0] = 9",
        check="over10[0].tolist(), np.shares_memory(over10[0].to_numpy(), array10)",
        before="([0.0, 0.0], True)",
        after="([9.0, 0.0], True)",
        changes="array10 over10",
    )


@story
def test_11_a_change_inside_an_object_array() -> Story:
    """(11) Mutation inside an object array."""
    return Story(
        setup="import numpy as np; cell11 = [1]; array11 = np.array([cell11, None], dtype=object)",
        change="array11[0].append(2)",
        check="array11[0] is cell11, cell11",
        before="(True, [1])",
        after="(True, [1, 2])",
        changes="array11 cell11",
        groups="array11 cell11",
    )


@story
def test_11_a_change_inside_a_frame() -> Story:
    """(11) Mutation inside a frame: of a list in one of its cells, to which a variable refers as well."""
    return Story(
        setup="import pandas as pd; item11 = [1]; frame11 = pd.DataFrame({'a': [item11, [2]]})",
        change="frame11.loc[0, 'a'].append(3)",
        check="frame11.loc[0, 'a'] is item11, item11",
        before="(True, [1])",
        after="(True, [1, 3])",
        changes="frame11 item11",
        groups="frame11 item11",
    )
