"""JSON of rocprofv3."""
