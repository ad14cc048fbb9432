"""What a reader sees in place of what is stored: cells, sentences, names and codes, in Spanish and English; pure."""
