"""Tax documents and registers of the trade, as merchants keep them in files."""
