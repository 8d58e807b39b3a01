CREATE TABLE `volatile_seen` (
	`id` integer PRIMARY KEY NOT NULL,
	`job` text NOT NULL,
	`content` text NOT NULL
);
--> statement-breakpoint
-- The rows keep their numbers, by which their order is known. The view that takes the name of their table, and the triggers, are made at the next start.
CREATE TABLE `ai_signals_volatile` (
	`_number` integer PRIMARY KEY NOT NULL,
	`quality_age_seconds` real NOT NULL,
	`quality_freshness` text NOT NULL
);
--> statement-breakpoint
INSERT INTO `ai_signals_volatile` SELECT `rowid`, `quality_age_seconds`, `quality_freshness` FROM `ai_signals` ORDER BY `rowid`;--> statement-breakpoint
DROP TRIGGER IF EXISTS `ai_signals_superseded`;--> statement-breakpoint
DROP TRIGGER IF EXISTS `ai_signals_removed`;--> statement-breakpoint
ALTER TABLE `ai_signals` DROP COLUMN `quality_age_seconds`;--> statement-breakpoint
ALTER TABLE `ai_signals` DROP COLUMN `quality_freshness`;--> statement-breakpoint
ALTER TABLE `ai_signals` RENAME TO `ai_signals_rows`;--> statement-breakpoint
ALTER TABLE `datasets` ADD `volatile_seq` integer DEFAULT 0 NOT NULL;
