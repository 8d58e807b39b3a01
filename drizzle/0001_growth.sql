ALTER TABLE `datasets` ADD `walks_from` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `datasets` ADD `calls_saved` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `quarantine_by_resolution` ON `quarantine` (`job`,`resolved_at`);--> statement-breakpoint
CREATE INDEX `walks_by_proof` ON `walks` (`job`,`id`) WHERE status = 'complete' AND verdict IN ('snapshot', 'verified');--> statement-breakpoint
INSERT INTO `datasets` (`job`, `calls_saved`) SELECT `job`, sum(`calls_saved`) FROM `walks` WHERE `calls_saved` > 0 GROUP BY `job` ON CONFLICT (`job`) DO UPDATE SET `calls_saved` = excluded.`calls_saved`;--> statement-breakpoint
-- Rows that a retry let in refer to walks that had changed nothing until then; from now on the retry itself notes that.
UPDATE `walks` SET `first_seq` = `rows`.`seq`, `last_seq` = `rows`.`seq` FROM (
	SELECT `_walk_id`, CAST(round((julianday(min(`_changed_at`)) - 2440587.5) * 86400000) AS INTEGER) AS `seq` FROM (
		SELECT `_walk_id`, `_changed_at` FROM `ai_signals` UNION ALL
		SELECT `_walk_id`, `_changed_at` FROM `ai_signals_history` UNION ALL
		SELECT `_walk_id`, `_changed_at` FROM `meme_signals` UNION ALL
		SELECT `_walk_id`, `_changed_at` FROM `meme_signals_history` UNION ALL
		SELECT `_walk_id`, `_changed_at` FROM `news` UNION ALL
		SELECT `_walk_id`, `_changed_at` FROM `news_history` UNION ALL
		SELECT `_walk_id`, `_changed_at` FROM `smart_wallets` UNION ALL
		SELECT `_walk_id`, `_changed_at` FROM `smart_wallets_history` UNION ALL
		SELECT `_walk_id`, `_changed_at` FROM `usage`
	) GROUP BY `_walk_id`
) AS `rows` WHERE `walks`.`id` = `rows`.`_walk_id` AND `last_seq` IS NULL;
