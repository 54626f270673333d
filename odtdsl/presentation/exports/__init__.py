"""Models written down for other programs; `docs/how-to/deploy.md` lists the formats.

    model --plan_of--> Plan --a file of `formats`--> text or bytes

`Plan` is what all formats see (see `plan.py`): what `predict` does with missing cells, unseen
categories, bins and the shared nodes of diagrams is settled there. A format writes down all of
it or refuses the model with the reason.
"""
