"""The page of the whole reproduction: a template written by hand, filled from the records."""

from reproduction.report.build import build_report, write_report
from reproduction.report.page import to_html
from reproduction.report.readme import fill_readme

__all__ = ["build_report", "fill_readme", "to_html", "write_report"]
