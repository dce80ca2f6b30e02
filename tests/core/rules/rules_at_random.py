"""Rules of a policy at random, for Hypothesis."""

from hypothesis import strategies as st

CONDITIONS = st.one_of(
    st.fixed_dictionaries({
        "field": st.sampled_from(["a", "a.b", "to[*].x", "f[0]", '["o d"]']),
        "op": st.sampled_from(["gt", "gte", "lt", "lte"]), "value": st.integers(-9, 9),
    }),
    st.fixed_dictionaries({
        "field": st.just("a"), "op": st.just("in"),
        "value": st.lists(st.integers(0, 3) | st.text(max_size=2), min_size=1, max_size=3),
    }),
    st.fixed_dictionaries({"field": st.just("b"), "op": st.just("exists"), "value": st.booleans()}),
)  # fmt: skip
RULES = st.fixed_dictionaries(
    {"effect": st.sampled_from(["allow", "ask", "deny"])},
    optional={
        "tool": st.sampled_from(["*", "pub*", "publish", "x"]),
        "kind": st.sampled_from(["mcp", "*"]),
        "read_only": st.booleans(), "when": st.lists(CONDITIONS, min_size=1, max_size=3),
        "reason": st.text(min_size=1, max_size=5), "environment": st.just(["env=*"]),
    },
)  # fmt: skip
