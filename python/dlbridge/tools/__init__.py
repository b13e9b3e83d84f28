"""The tools: demo, doctor, inspect, matrix, conformance. `import dlbridge` imports none of them."""
