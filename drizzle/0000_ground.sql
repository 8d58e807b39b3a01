CREATE TABLE `datasets` (
	`job` text PRIMARY KEY NOT NULL,
	`rows_path` text,
	`key_field` text,
	`shared_keys` text,
	`chosen_at` text,
	`last_seq` integer,
	`order_seq` integer,
	`volatile_seq` integer DEFAULT 0 NOT NULL,
	`history_from` text,
	`orders_from` integer,
	`walks_from` integer DEFAULT 0 NOT NULL,
	`calls_saved` integer DEFAULT 0 NOT NULL,
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
CREATE TABLE `governor` (
	`id` integer PRIMARY KEY NOT NULL,
	`state` text NOT NULL,
	`updated_at` text DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) NOT NULL
);
--> statement-breakpoint
CREATE TABLE `identity` (
	`id` integer PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`epoch` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `orders` (
	`job` text NOT NULL,
	`seq` integer NOT NULL,
	`walk_id` integer NOT NULL,
	`verdict` text NOT NULL,
	`complete_as_of` text NOT NULL,
	`generated_at` text,
	`rowids` blob,
	`same_as` integer,
	`rows` integer NOT NULL,
	`met` integer NOT NULL,
	`held` integer NOT NULL,
	`top` integer NOT NULL,
	PRIMARY KEY(`job`, `seq`)
);
--> statement-breakpoint
CREATE TABLE `quarantine` (
	`id` integer PRIMARY KEY NOT NULL,
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
CREATE TABLE `removed_rows` (
	`job` text NOT NULL,
	`number` integer NOT NULL,
	`until` integer NOT NULL,
	`key` text NOT NULL,
	PRIMARY KEY(`job`, `number`, `until`)
);
--> statement-breakpoint
CREATE INDEX `removed_rows_by_time` ON `removed_rows` (`job`,`until`);--> statement-breakpoint
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
CREATE TABLE `restores` (
	`id` integer PRIMARY KEY NOT NULL,
	`backup_seq` integer NOT NULL,
	`restored_seq` integer
);
--> statement-breakpoint
CREATE TABLE `rows_met` (
	`id` integer PRIMARY KEY NOT NULL,
	`walk_id` integer NOT NULL,
	`rowids` blob NOT NULL,
	`part` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `staged_volatile` (
	`id` integer PRIMARY KEY NOT NULL,
	`job` text NOT NULL,
	`content` text NOT NULL
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
	`calls_saved` integer DEFAULT 0 NOT NULL,
	`first_seq` integer,
	`last_seq` integer,
	`anomalies` text DEFAULT '{}' NOT NULL,
	`memory` text DEFAULT '{}' NOT NULL,
	`waits_until` text,
	`waits_for` text
);
--> statement-breakpoint
CREATE INDEX `walks_by_job` ON `walks` (`job`,`id`);--> statement-breakpoint
CREATE INDEX `walks_by_seq` ON `walks` (`last_seq`);--> statement-breakpoint
CREATE INDEX `walks_by_proof` ON `walks` (`job`,`id`) WHERE status = 'complete' AND verdict IN ('snapshot', 'verified');--> statement-breakpoint
CREATE TABLE `ai_signals_volatile` (
	`_number` integer PRIMARY KEY NOT NULL,
	`quality_age_seconds` real NOT NULL,
	`quality_freshness` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `ai_signals_rows` (
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
	`_key` text PRIMARY KEY NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_held_since` text,
	`_held_reason` text
);
--> statement-breakpoint
CREATE INDEX `ai_signals_rows_held` ON `ai_signals_rows` (`_held_since`) WHERE _held_since IS NOT NULL;--> statement-breakpoint
CREATE TABLE `ai_signals_history_rows` (
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
	`_ended_by` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `ai_signals_history_by_key` ON `ai_signals_history_rows` (`_key`,`_valid_to`);--> statement-breakpoint
CREATE TABLE `meme_signals_rows` (
	`_key` text PRIMARY KEY NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_held_since` text,
	`_held_reason` text,
	`_body` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `meme_signals_rows_held` ON `meme_signals_rows` (`_held_since`) WHERE _held_since IS NOT NULL;--> statement-breakpoint
CREATE TABLE `meme_signals_history_rows` (
	`_key` text NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_valid_from` text NOT NULL,
	`_valid_to` text NOT NULL,
	`_ended_by` text NOT NULL,
	`_body` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `meme_signals_history_by_key` ON `meme_signals_history_rows` (`_key`,`_valid_to`);--> statement-breakpoint
CREATE TABLE `news_rows` (
	`_key` text PRIMARY KEY NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_held_since` text,
	`_held_reason` text,
	`_body` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `news_rows_held` ON `news_rows` (`_held_since`) WHERE _held_since IS NOT NULL;--> statement-breakpoint
CREATE TABLE `news_history_rows` (
	`_key` text NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_valid_from` text NOT NULL,
	`_valid_to` text NOT NULL,
	`_ended_by` text NOT NULL,
	`_body` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `news_history_by_key` ON `news_history_rows` (`_key`,`_valid_to`);--> statement-breakpoint
CREATE TABLE `smart_wallets_rows` (
	`_key` text PRIMARY KEY NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_held_since` text,
	`_held_reason` text,
	`_body` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `smart_wallets_rows_held` ON `smart_wallets_rows` (`_held_since`) WHERE _held_since IS NOT NULL;--> statement-breakpoint
CREATE TABLE `smart_wallets_history_rows` (
	`_key` text NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_valid_from` text NOT NULL,
	`_valid_to` text NOT NULL,
	`_ended_by` text NOT NULL,
	`_body` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `smart_wallets_history_by_key` ON `smart_wallets_history_rows` (`_key`,`_valid_to`);--> statement-breakpoint
CREATE TABLE `usage_rows` (
	`_key` text PRIMARY KEY NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_held_since` text,
	`_held_reason` text,
	`_fetched_at` text NOT NULL,
	`_body` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `usage_rows_held` ON `usage_rows` (`_held_since`) WHERE _held_since IS NOT NULL;