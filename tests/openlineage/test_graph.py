"""Walks over graphs: direction, depth, repeats and cycles."""

from headwater.openlineage.graph import Branch, Flow, Way, reach, tree

UP, DOWN = Way.UPSTREAM, Way.DOWNSTREAM


def is_job(node: str) -> bool:
    return node.startswith("job:")


def outline(branch: Branch, indent: int = 0) -> list[str]:
    mark = " seen" if branch.seen else f" +{branch.hidden}" if branch.hidden else ""
    lines = ["." * indent + branch.node + mark]
    for child in branch.children:
        lines += outline(child, indent + 1)
    return lines


CHAIN = Flow([("a", "job:1"), ("job:1", "b"), ("b", "job:2"), ("job:2", "c"), ("c", "job:3")])


def test_a_walk_follows_one_direction_only() -> None:
    flow = Flow([("a", "x"), ("b", "x"), ("x", "c"), ("b", "d")])
    assert set(reach(flow, "x", UP, 9)) == {"x", "a", "b"}
    assert set(reach(flow, "x", DOWN, 9)) == {"x", "c"}


def test_depth_counts_jobs_and_the_last_job_keeps_its_datasets() -> None:
    assert reach(CHAIN, "a", DOWN, 1, is_job) == {"a": 0, "job:1": 1, "b": 1}
    assert "c" in reach(CHAIN, "a", DOWN, 2, is_job)


def test_what_lies_beyond_the_depth_is_counted() -> None:
    assert outline(tree(CHAIN, "a", DOWN, 1, is_job)) == ["a", ".job:1", "..b +1"]


def test_the_start_counts_nothing_even_if_it_is_a_job() -> None:
    assert reach(CHAIN, "job:2", UP, 1, is_job) == {"job:2": 0, "b": 0, "job:1": 1, "a": 1}


def test_a_node_with_two_ways_to_it_is_unfolded_once() -> None:
    flow = Flow([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e")])
    assert outline(tree(flow, "a", DOWN, 9)) == ["a", ".b", "..d", "...e", ".c", "..d seen"]


def test_a_repeated_leaf_hides_nothing_and_is_not_marked() -> None:
    flow = Flow([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
    assert outline(tree(flow, "a", DOWN, 9)) == ["a", ".b", "..d", ".c", "..d"]


def test_a_cycle_ends_where_it_began() -> None:
    flow = Flow([("a", "b"), ("b", "c"), ("c", "a")])
    assert outline(tree(flow, "a", DOWN, 9)) == ["a", ".b", "..c", "...a seen"]


def test_a_long_way_round_does_not_shorten_what_the_short_way_reaches() -> None:
    flow = Flow([("s", "a"), ("a", "b"), ("b", "z"), ("s", "z"), ("z", "t")])
    told = outline(tree(flow, "s", DOWN, 2))
    assert told == ["s", ".a", "..b", "...z", "....t", ".z seen"]


def test_a_chain_longer_than_the_call_stack_is_walked() -> None:
    flow = Flow([(f"n{i}", f"n{i + 1}") for i in range(5000)])
    assert len(reach(flow, "n0", DOWN, 10_000)) == 5001
    branch, length = tree(flow, "n0", DOWN, 10_000), 0
    while branch.children:
        branch, length = branch.children[0], length + 1
    assert length == 5000
