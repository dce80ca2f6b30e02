"""The mind: one file per model provider; all satisfy `provider.Provider`."""
