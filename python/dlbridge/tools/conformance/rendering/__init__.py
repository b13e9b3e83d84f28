"""The report in the forms that other programs read: JUnit, annotations of GitHub, a badge."""
