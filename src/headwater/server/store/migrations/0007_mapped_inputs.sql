-- What a run read according to the lineage of its outputs alone (run_io.io = 3) is an input of its job.
INSERT INTO run_io (run, io, dataset, schema, since, last, facets, own, version)
SELECT t.run, 3, i.dataset, 0, min(t.time), max(t.time), '', '', NULL
FROM touch t JOIN mapping_input i ON i.mapping = t.mapping AND i.dataset <> t.dataset
WHERE t.io = 1 AND t.run IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM touch o WHERE o.dataset = i.dataset AND o.time = t.time AND o.tie = t.tie AND o.io = 0
)
GROUP BY t.run, i.dataset
ON CONFLICT DO NOTHING;
INSERT INTO edge (job, io, dataset, since, until)
SELECT j.id, 0, o.dataset, CASE WHEN o.since > j.in_since THEN o.since ELSE j.in_since END, 4611686018427387904
FROM job j JOIN run_io o ON o.run = j.in_run AND o.io = 3
WHERE NOT EXISTS (
    SELECT 1 FROM edge e WHERE e.job = j.id AND e.io = 0 AND e.dataset = o.dataset AND e.until = 4611686018427387904
)
ON CONFLICT DO NOTHING;
