-- What the key of an event covers that is applied later: the prefixes of its namespaces, as JSON.
-- Null for events that the version before deferred.
ALTER TABLE deferred ADD COLUMN namespaces TEXT;

-- Whether a key with namespaces told of a snapshot.
ALTER TABLE snapshot ADD COLUMN limited BOOLEAN NOT NULL DEFAULT FALSE
