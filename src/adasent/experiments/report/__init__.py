"""Records in; the report of the whole reproduction out, as Markdown and as one HTML page."""

from adasent.experiments.report.build import build_report
from adasent.experiments.report.markdown import to_markdown
from adasent.experiments.report.page import to_html

__all__ = ["build_report", "to_html", "to_markdown"]
