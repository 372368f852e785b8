"""The paper's evaluation, reproduced with the library: protocol, tables, figures, report."""
