-- title: Wallets that changed lane
-- run: on change
-- watch: wallet, at
SELECT _key AS wallet, at, old AS lane_before, new AS lane
FROM smart_wallets_changes
WHERE kind = 'changed' AND "column" = 'lane' AND at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')
ORDER BY seq DESC;
