"""What an editor asks of a spec: mistakes as one types, meanings, completions, renames.

`outline` reads a text that may be half written; `hover`, `completion` and `rename` answer from
it; `checking` finds the mistakes, with data that `tables` keeps; `server` speaks the language
server protocol and has `checking` done by a process of its own, `worker`, that it can stop.
"""
