"""From a folder to chunks: files found, decoded, cut at headings and sentences."""
