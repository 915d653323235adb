"""The game between Alice and Eve, for many states.

Arrays come in; an optimal vertex or certified bounds go out, in a time that hardly grows faster than N.
"""
