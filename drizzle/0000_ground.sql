CREATE TABLE `_datasets` (
	`job` text PRIMARY KEY NOT NULL,
	`shape` text,
	`motions` text DEFAULT '[]' NOT NULL,
	`last_seq` integer,
	`reordered_seq` integer,
	`keys_seq` integer,
	`volatile_seq` integer DEFAULT 0 NOT NULL,
	`history_from` text,
	`orders_from` integer,
	`next_due_at` text
);
--> statement-breakpoint
CREATE TABLE `drift` (
	`job` text NOT NULL,
	`kind` text NOT NULL,
	`path` text NOT NULL,
	`detail` text NOT NULL,
	`first_seen_at` text NOT NULL,
	`last_seen_at` text NOT NULL,
	`times` integer NOT NULL,
	`request_id` text,
	`walk_id` integer NOT NULL,
	PRIMARY KEY(`job`, `kind`, `path`, `detail`)
);
--> statement-breakpoint
CREATE TABLE `fields` (
	`job` text NOT NULL,
	`column` text NOT NULL,
	`path` text NOT NULL,
	`types` text NOT NULL,
	`nullable` integer NOT NULL,
	`first_seen_at` text NOT NULL,
	`last_seen_at` text NOT NULL,
	`example` text,
	`walk_id` integer NOT NULL,
	PRIMARY KEY(`job`, `column`)
);
--> statement-breakpoint
CREATE TABLE `_governor` (
	`id` integer PRIMARY KEY NOT NULL,
	`state` text NOT NULL,
	`updated_at` text DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) NOT NULL
);
--> statement-breakpoint
CREATE TABLE `_identity` (
	`id` integer PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`epoch` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `quarantine` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`job` text NOT NULL,
	`key` text,
	`identity` text NOT NULL,
	`body` text NOT NULL,
	`problems` text NOT NULL,
	`request_id` text,
	`walk_id` integer NOT NULL,
	`first_seen_at` text NOT NULL,
	`last_seen_at` text NOT NULL,
	`times` integer DEFAULT 1 NOT NULL,
	`resolved_at` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `quarantine_by_identity` ON `quarantine` (`job`,`identity`);--> statement-breakpoint
CREATE INDEX `quarantine_by_resolution` ON `quarantine` (`job`,`resolved_at`);--> statement-breakpoint
CREATE TABLE `_report_keys` (
	`report` text NOT NULL,
	`key` text NOT NULL,
	`at` text NOT NULL,
	`left_at` text,
	PRIMARY KEY(`report`, `key`)
);
--> statement-breakpoint
CREATE TABLE `_report_messages` (
	`id` text PRIMARY KEY NOT NULL,
	`report` text NOT NULL,
	`at` text NOT NULL,
	`receiver` text NOT NULL,
	`body` text NOT NULL,
	`failures` integer DEFAULT 0 NOT NULL,
	`error` text,
	`next_try_at` text,
	`sent_at` text,
	`given_up_at` text
);
--> statement-breakpoint
CREATE TABLE `_reports` (
	`name` text PRIMARY KEY NOT NULL,
	`title` text NOT NULL,
	`sql` text NOT NULL,
	`reads` text DEFAULT '[]' NOT NULL,
	`seq` integer,
	`ran_at` text,
	`duration_ms` integer,
	`rows` integer,
	`new_rows` integer,
	`waits` text,
	`mistake` text,
	`error` text,
	`failures` integer DEFAULT 0 NOT NULL,
	`error_kind` text,
	`receipt` text
);
--> statement-breakpoint
CREATE TABLE `requests` (
	`id` integer PRIMARY KEY NOT NULL,
	`at` text NOT NULL,
	`job` text NOT NULL,
	`walk_id` integer,
	`url` text NOT NULL,
	`status` integer,
	`ms` integer NOT NULL,
	`bytes` integer NOT NULL,
	`request_id` text,
	`rate_limit` integer,
	`rate_remaining` integer,
	`error_code` text
);
--> statement-breakpoint
CREATE INDEX `requests_by_time` ON `requests` (`at`);--> statement-breakpoint
CREATE TABLE `_restores` (
	`id` integer PRIMARY KEY NOT NULL,
	`backup_seq` integer NOT NULL,
	`restored_seq` integer
);
--> statement-breakpoint
CREATE TABLE `_walk_pages` (
	`id` integer PRIMARY KEY NOT NULL,
	`rows` integer NOT NULL,
	`numbers` text NOT NULL,
	CONSTRAINT "walk_pages_numbers" CHECK(numbers NOT LIKE '%null%')
);
--> statement-breakpoint
CREATE TABLE `walks` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`job` text NOT NULL,
	`kind` text DEFAULT 'walk' NOT NULL,
	`status` text NOT NULL,
	`verdict` text,
	`started_at` text NOT NULL,
	`finished_at` text,
	`next_offset` integer DEFAULT 0 NOT NULL,
	`pages` integer DEFAULT 0 NOT NULL,
	`rows` integer DEFAULT 0 NOT NULL,
	`inserted` integer DEFAULT 0 NOT NULL,
	`new_in_head` integer DEFAULT 0 NOT NULL,
	`new_at_tail` integer DEFAULT 0 NOT NULL,
	`new_elsewhere` integer DEFAULT 0 NOT NULL,
	`glanced` integer DEFAULT 0 NOT NULL,
	`updated` integer DEFAULT 0 NOT NULL,
	`deleted` integer DEFAULT 0 NOT NULL,
	`quarantined` integer DEFAULT 0 NOT NULL,
	`drifted` integer DEFAULT 0 NOT NULL,
	`api_calls` integer DEFAULT 0 NOT NULL,
	`total` integer,
	`generated_at` text,
	`error` text,
	`error_kind` text,
	`total_first` integer,
	`distinct_keys` integer DEFAULT 0 NOT NULL,
	`restarts` integer DEFAULT 0 NOT NULL,
	`steps_back` integer DEFAULT 0 NOT NULL,
	`unkeyed` integer DEFAULT 0 NOT NULL,
	`held` integer DEFAULT 0 NOT NULL,
	`renewal_of` integer,
	`first_seq` integer,
	`last_seq` integer,
	`anomalies` text DEFAULT '{}' NOT NULL,
	`memory` text DEFAULT '{}' NOT NULL,
	`order_seq` integer,
	`pages_of` integer,
	`last_number` integer,
	`waits_until` text,
	`waits_for` text
);
--> statement-breakpoint
CREATE INDEX `walks_by_job` ON `walks` (`job`,`id`);--> statement-breakpoint
CREATE INDEX `walks_by_seq` ON `walks` (`last_seq`);--> statement-breakpoint
CREATE INDEX `walks_by_proof` ON `walks` (`job`,`id`) WHERE status = 'complete' AND verdict IN ('snapshot', 'verified');--> statement-breakpoint
CREATE INDEX `walks_by_order` ON `walks` (`job`,`order_seq`) WHERE order_seq IS NOT NULL;--> statement-breakpoint
CREATE TABLE `_ai_signals_rows` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`timestamp` text NOT NULL,
	`asset` text NOT NULL,
	`action` text NOT NULL,
	`confidence` real NOT NULL,
	`risk_reward` real,
	`entry_price` real NOT NULL,
	`tp_price` real,
	`sl_price` real,
	`rationale` text NOT NULL,
	`status` text NOT NULL,
	`validator_allowed` integer,
	`validator_score` real,
	`validator_reason_codes` text NOT NULL,
	`validator_final_action` text,
	`quality_publishable` integer NOT NULL,
	`quality_grade` text NOT NULL,
	`quality_checks` text NOT NULL,
	`asset_class` text NOT NULL,
	`screener_score` real,
	`regime` text,
	`dual_ai_analyst` text,
	`dual_ai_arbiter` text,
	`dual_ai_verdict` text,
	`dual_ai_confidence` real,
	`dual_ai` text,
	`extra` text,
	`_key` text NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_held_since` text,
	`_held_reason` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `_ai_signals_rows__key_unique` ON `_ai_signals_rows` (`_key`);--> statement-breakpoint
CREATE INDEX `_ai_signals_rows_held` ON `_ai_signals_rows` (`_held_since`) WHERE _held_since IS NOT NULL;--> statement-breakpoint
CREATE TABLE `_ai_signals_history_rows` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`timestamp` text NOT NULL,
	`asset` text NOT NULL,
	`action` text NOT NULL,
	`confidence` real NOT NULL,
	`risk_reward` real,
	`entry_price` real NOT NULL,
	`tp_price` real,
	`sl_price` real,
	`rationale` text NOT NULL,
	`status` text NOT NULL,
	`validator_allowed` integer,
	`validator_score` real,
	`validator_reason_codes` text NOT NULL,
	`validator_final_action` text,
	`quality_publishable` integer NOT NULL,
	`quality_grade` text NOT NULL,
	`quality_age_seconds` real NOT NULL,
	`quality_freshness` text NOT NULL,
	`quality_checks` text NOT NULL,
	`asset_class` text NOT NULL,
	`screener_score` real,
	`regime` text,
	`dual_ai_analyst` text,
	`dual_ai_arbiter` text,
	`dual_ai_verdict` text,
	`dual_ai_confidence` real,
	`dual_ai` text,
	`extra` text,
	`_key` text NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_valid_from` text NOT NULL,
	`_valid_to` text NOT NULL,
	`_ended_by` text NOT NULL,
	`_row` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `_ai_signals_history_rows_by_key` ON `_ai_signals_history_rows` (`_key`,`_valid_to`);--> statement-breakpoint
CREATE INDEX `_ai_signals_history_rows_removed` ON `_ai_signals_history_rows` (`_row`) WHERE _ended_by = 'delete';--> statement-breakpoint
CREATE TABLE `_ai_signals_volatile` (
	`number` integer PRIMARY KEY NOT NULL,
	`quality_age_seconds` real NOT NULL,
	`quality_freshness` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `_meme_signals_rows` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`_key` text NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_held_since` text,
	`_held_reason` text,
	`_body` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `_meme_signals_rows__key_unique` ON `_meme_signals_rows` (`_key`);--> statement-breakpoint
CREATE INDEX `_meme_signals_rows_held` ON `_meme_signals_rows` (`_held_since`) WHERE _held_since IS NOT NULL;--> statement-breakpoint
CREATE TABLE `_meme_signals_history_rows` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`_key` text NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_valid_from` text NOT NULL,
	`_valid_to` text NOT NULL,
	`_ended_by` text NOT NULL,
	`_row` integer NOT NULL,
	`_body` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `_meme_signals_history_rows_by_key` ON `_meme_signals_history_rows` (`_key`,`_valid_to`);--> statement-breakpoint
CREATE INDEX `_meme_signals_history_rows_removed` ON `_meme_signals_history_rows` (`_row`) WHERE _ended_by = 'delete';--> statement-breakpoint
CREATE TABLE `_news_rows` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`_key` text NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_held_since` text,
	`_held_reason` text,
	`_body` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `_news_rows__key_unique` ON `_news_rows` (`_key`);--> statement-breakpoint
CREATE INDEX `_news_rows_held` ON `_news_rows` (`_held_since`) WHERE _held_since IS NOT NULL;--> statement-breakpoint
CREATE TABLE `_news_history_rows` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`_key` text NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_valid_from` text NOT NULL,
	`_valid_to` text NOT NULL,
	`_ended_by` text NOT NULL,
	`_row` integer NOT NULL,
	`_body` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `_news_history_rows_by_key` ON `_news_history_rows` (`_key`,`_valid_to`);--> statement-breakpoint
CREATE INDEX `_news_history_rows_removed` ON `_news_history_rows` (`_row`) WHERE _ended_by = 'delete';--> statement-breakpoint
CREATE TABLE `_smart_wallets_rows` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`_key` text NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_held_since` text,
	`_held_reason` text,
	`_body` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `_smart_wallets_rows__key_unique` ON `_smart_wallets_rows` (`_key`);--> statement-breakpoint
CREATE INDEX `_smart_wallets_rows_held` ON `_smart_wallets_rows` (`_held_since`) WHERE _held_since IS NOT NULL;--> statement-breakpoint
CREATE TABLE `_smart_wallets_history_rows` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`_key` text NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_valid_from` text NOT NULL,
	`_valid_to` text NOT NULL,
	`_ended_by` text NOT NULL,
	`_row` integer NOT NULL,
	`_body` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `_smart_wallets_history_rows_by_key` ON `_smart_wallets_history_rows` (`_key`,`_valid_to`);--> statement-breakpoint
CREATE INDEX `_smart_wallets_history_rows_removed` ON `_smart_wallets_history_rows` (`_row`) WHERE _ended_by = 'delete';--> statement-breakpoint
CREATE TABLE `_usage_rows` (
	`number` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`_key` text NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_held_since` text,
	`_held_reason` text,
	`_fetched_at` text NOT NULL,
	`_body` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `_usage_rows__key_unique` ON `_usage_rows` (`_key`);--> statement-breakpoint
CREATE INDEX `_usage_rows_held` ON `_usage_rows` (`_held_since`) WHERE _held_since IS NOT NULL;