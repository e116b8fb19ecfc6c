"""Figures and tables from results of uvmsim; nothing here runs the model."""
