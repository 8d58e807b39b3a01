-- title: Grade A buys
-- run: on change
-- fresh: 10m
-- watch: id
SELECT id, asset, entry_price, tp_price, sl_price, confidence
FROM ai_signals_current
WHERE quality_grade = 'A' AND action = 'BUY' AND confidence > 0.9
ORDER BY confidence DESC, id;
