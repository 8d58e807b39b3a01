-- title: Meme alerts of the last hour
-- run: on change
-- watch: _key
-- to: meme-alerts.html
--
-- What a row of this list holds is found, not specified. These columns are those of the sample data;
-- SELECT "column", types, example FROM fields WHERE job = 'meme-signals' lists yours.
SELECT _key, token_symbol, token_chain, alert, severity, price_usd, _first_seen_at
FROM meme_signals_current
WHERE _first_seen_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 hour')
ORDER BY _first_seen_at DESC, _key;
