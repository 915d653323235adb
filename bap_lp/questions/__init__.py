"""Questions about an optimum: is it unique, and how far may an entry move before it changes.

An exact problem and lam come in; derivatives, intervals and optimal mechanisms go out.
"""
