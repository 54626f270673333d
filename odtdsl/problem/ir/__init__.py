"""The intermediate representation: what a spec means, before and after normalization.

`expr` and `problem` say what was asked (names resolved, types known); `forms` is the
closed family of core forms that back ends read; `intervals` and `families` say which
tests there are; `raw` is the answer of a search on those tests.
"""
