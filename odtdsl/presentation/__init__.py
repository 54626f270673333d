"""Models and results for people and other programs: text, pictures, reports, exports.

All of it is functions of values. The methods of the same names find their functions here.
"""

from odtdsl.base.methods import register

register(
    {
        "Diagnostic.__str__": "odtdsl.base.diagnostics.render:render_text",
        "Model.save": "odtdsl.predictors.saving:save",
        "Model.__str__": "odtdsl.presentation.console:model_text",
        "Model.to_svg": "odtdsl.presentation.pictures.svg:to_svg",
        "Model.plot": "odtdsl.presentation.pictures.plot:plot",
        "Model.export": "odtdsl.presentation.exports.registry:export",
        "Result.__str__": "odtdsl.presentation.console:result_text",
        "Result._repr_html_": "odtdsl.presentation.report.fragment:fragment",
        "Result.to_svg": "odtdsl.presentation.report.assembly:result_svg",
        "Result.plot": "odtdsl.presentation.report.assembly:result_plot",
        "Result.report": "odtdsl.presentation.report.assembly:report",
        "Result.certify": "odtdsl.insight.proofs.certify:certify",
        "Result.why": "odtdsl.insight.counterfactuals:why",
        "Explanation.__str__": "odtdsl.presentation.explanations:explanation_text",
        "Audit.__str__": "odtdsl.presentation.console:audit_text",
        "TestScore.__str__": "odtdsl.presentation.console:test_text",
        "Plan.__str__": "odtdsl.presentation.console:plan_text",
        "Comparison.__str__": "odtdsl.presentation.console:comparison_text",
        "Alternatives.__str__": "odtdsl.presentation.lists:alternatives_text",
        "Alternatives.certify": "odtdsl.insight.proofs.listing:certify",
        "Curve.__str__": "odtdsl.presentation.explanations:curve_text",
        "Curve.to_svg": "odtdsl.presentation.charts.curve:to_svg",
        "Tuning.__str__": "odtdsl.presentation.tuning:text",
        "Tuning.to_svg": "odtdsl.presentation.charts.tuning:to_svg",
    }
)
