"""Records in; the report of the whole reproduction out, as Markdown and as one HTML page."""

from reproduction.report.build import build_report
from reproduction.report.markdown import to_markdown
from reproduction.report.page import to_html

__all__ = ["build_report", "to_html", "to_markdown"]
