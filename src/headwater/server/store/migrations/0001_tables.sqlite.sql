-- What search goes through: names and columns, by their trigrams.
CREATE VIRTUAL TABLE IF NOT EXISTS search USING fts5(
    text, kind UNINDEXED, target UNINDEXED, tokenize = 'trigram'
);
