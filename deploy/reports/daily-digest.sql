-- title: Signals of the last day
-- run: 0 7 * * *
-- fresh: 1h
-- to: digest-{date}.md
SELECT asset, count(*) AS signals, sum(action = 'BUY') AS buys, sum(action = 'SELL') AS sells,
  sum(quality_grade = 'A') AS grade_a, round(avg(confidence), 2) AS confidence
FROM ai_signals_current
WHERE timestamp > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')
GROUP BY asset ORDER BY signals DESC, asset;
