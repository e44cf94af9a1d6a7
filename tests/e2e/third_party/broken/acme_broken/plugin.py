"""A plugin that cannot be imported."""

raise RuntimeError("the licence of acme-broken has expired")
