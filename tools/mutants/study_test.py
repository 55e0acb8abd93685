"""Which faults a sample has."""

from mutants import study, tree


def test_a_fault_stays_in_the_sample_when_other_code_goes() -> None:
    faults = tree.all_faults(["src/core/view"])
    before = {fault.key for fault in study._drawn(faults, 20, 1)}
    elsewhere = [fault for fault in faults if fault.path.endswith("process_view.cc")]
    after = {fault.key for fault in study._drawn(elsewhere, 20, 1)}
    assert {fault.key for fault in elsewhere} & before <= after
    assert {fault.key for fault in study._drawn(faults, 20, 2)} != before
