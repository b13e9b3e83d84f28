"""The forms of the report: for terminals, JUnit, annotations of GitHub, and a badge."""
