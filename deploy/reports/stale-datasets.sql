-- title: Datasets that are stale
-- run: every 5m
-- watch: job, proven
SELECT job, coalesce(complete_as_of, 'never') AS proven, status, last_error
FROM freshness
WHERE complete_as_of IS NULL OR age_seconds > 30 * 60;
