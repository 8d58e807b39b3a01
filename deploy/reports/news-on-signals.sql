-- title: News on assets with an open signal
-- run: on change
-- watch: news
--
-- What a row of news holds is found, not specified: these columns are those of the sample data.
SELECT news._key AS news, news.headline, group_concat(DISTINCT signal.asset) AS assets, news.url
FROM news_current AS news
JOIN news_symbols AS symbol ON symbol._key = news._key
JOIN ai_signals_current AS signal ON signal.asset = symbol.value
WHERE signal.status = 'active' AND news._first_seen_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')
GROUP BY news._key ORDER BY news._first_seen_at DESC, news._key;
