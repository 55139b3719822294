"""Other people's ways to the result, each as its own documentation says it is fastest.

Each is called as its users call it, on a view of the input where it takes one: nothing is converted
on its bill but what its own interface demands.
"""
