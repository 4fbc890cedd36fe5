-- What the key of an event covers that is applied later: the prefixes of its namespaces, as JSON.
-- Null for events that the version before deferred.
ALTER TABLE deferred ADD COLUMN namespaces TEXT;

-- What the key covers that told of a snapshot, in the same form; null for a key without namespaces.
ALTER TABLE snapshot ADD COLUMN namespaces TEXT
