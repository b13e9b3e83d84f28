"""The probes of lifetime and threads, X-01 to X-12: who frees, when, and on which thread."""
