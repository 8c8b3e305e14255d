"""The checks of the conformance kit, one module a kind of component; `agents_core.testing` is the door to them."""
