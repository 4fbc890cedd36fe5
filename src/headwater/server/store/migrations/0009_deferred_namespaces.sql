-- What the key of an event covers that is applied later: the prefixes of its namespaces, as JSON.
-- Null for events that the version before deferred.
ALTER TABLE deferred ADD COLUMN namespaces TEXT
