"""Models and results for people and other programs: text, pictures, reports, exports.

All of it is functions of values. The methods of the same names find their functions here.
"""

from odtdsl.base.methods import register

register(
    {
        "Model.__str__": "odtdsl.console:model_text",
        "Model.to_svg": "odtdsl.predictors.svg:to_svg",
        "Model.plot": "odtdsl.predictors.plot:plot",
        "Model.export": "odtdsl.exports:export",
        "Result.__str__": "odtdsl.console:result_text",
        "Result._repr_html_": "odtdsl.report.fragment:fragment",
        "Result.to_svg": "odtdsl.report.making:result_svg",
        "Result.plot": "odtdsl.report.making:result_plot",
        "Result.report": "odtdsl.report.making:report",
        "Result.why": "odtdsl.why:why",
        "Curve.to_svg": "odtdsl.explaining.plot:to_svg",
        "Tuning.to_svg": "odtdsl.tuning.plot:to_svg",
    }
)
