-- What search goes through: names and columns, by their trigrams. It needs no extension.
CREATE TABLE IF NOT EXISTS search (
    text TEXT NOT NULL,
    kind TEXT NOT NULL,
    target BIGINT NOT NULL
);
CREATE OR REPLACE FUNCTION headwater_grams(words TEXT) RETURNS TEXT[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
        SELECT array_agg(DISTINCT substr(words, i, 3))
        FROM generate_series(1, greatest(length(words) - 2, 1)) i
    $$;
CREATE INDEX IF NOT EXISTS search_grams ON search USING gin (headwater_grams(lower(text)));
