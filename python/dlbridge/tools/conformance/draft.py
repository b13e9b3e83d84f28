"""The probes beyond the sixty: the array API's draft, the exchange table, other protocols."""
