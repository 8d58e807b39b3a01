CREATE TABLE `absences` (
	`job` text NOT NULL,
	`key` text NOT NULL,
	`walk_id` integer NOT NULL,
	`since` text NOT NULL,
	`proofs` integer NOT NULL,
	`doubtful` integer NOT NULL,
	`removed_at` text,
	PRIMARY KEY(`job`, `key`)
);
--> statement-breakpoint
CREATE TABLE `datasets` (
	`job` text PRIMARY KEY NOT NULL,
	`rows_path` text,
	`key_field` text,
	`shared_keys` text,
	`chosen_at` text,
	`last_seq` integer,
	`history_from` text,
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
CREATE TABLE `walk_seen` (
	`id` integer PRIMARY KEY NOT NULL,
	`walk_id` integer NOT NULL,
	`rowids` blob NOT NULL
);
--> statement-breakpoint
CREATE TABLE `walks` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`job` text NOT NULL,
	`status` text NOT NULL,
	`verdict` text,
	`started_at` text NOT NULL,
	`finished_at` text,
	`next_offset` integer DEFAULT 0 NOT NULL,
	`pages` integer DEFAULT 0 NOT NULL,
	`rows` integer DEFAULT 0 NOT NULL,
	`inserted` integer DEFAULT 0 NOT NULL,
	`updated` integer DEFAULT 0 NOT NULL,
	`deleted` integer DEFAULT 0 NOT NULL,
	`quarantined` integer DEFAULT 0 NOT NULL,
	`drifted` integer DEFAULT 0 NOT NULL,
	`api_calls` integer DEFAULT 0 NOT NULL,
	`total` integer,
	`generated_at` text,
	`error` text,
	`total_first` integer,
	`distinct_keys` integer DEFAULT 0 NOT NULL,
	`restarts` integer DEFAULT 0 NOT NULL,
	`steps_back` integer DEFAULT 0 NOT NULL,
	`unkeyed` integer DEFAULT 0 NOT NULL,
	`held` integer DEFAULT 0 NOT NULL,
	`probe_of` integer,
	`calls_saved` integer DEFAULT 0 NOT NULL,
	`first_seq` integer,
	`last_seq` integer,
	`anomalies` text DEFAULT '{}' NOT NULL,
	`memory` text DEFAULT '{}' NOT NULL
);
--> statement-breakpoint
CREATE INDEX `walks_by_job` ON `walks` (`job`,`id`);--> statement-breakpoint
CREATE INDEX `walks_by_seq` ON `walks` (`last_seq`);--> statement-breakpoint
CREATE TABLE `ai_signals_history` (
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
CREATE INDEX `ai_signals_history_by_key` ON `ai_signals_history` (`_key`,`_valid_to`);--> statement-breakpoint
CREATE TABLE `ai_signals` (
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
	`_key` text PRIMARY KEY NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `meme_signals_history` (
	`_body` text NOT NULL,
	`_key` text NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_valid_from` text NOT NULL,
	`_valid_to` text NOT NULL,
	`_ended_by` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `meme_signals_history_by_key` ON `meme_signals_history` (`_key`,`_valid_to`);--> statement-breakpoint
CREATE TABLE `meme_signals` (
	`_body` text NOT NULL,
	`_key` text PRIMARY KEY NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `news_history` (
	`_body` text NOT NULL,
	`_key` text NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_valid_from` text NOT NULL,
	`_valid_to` text NOT NULL,
	`_ended_by` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `news_history_by_key` ON `news_history` (`_key`,`_valid_to`);--> statement-breakpoint
CREATE TABLE `news` (
	`_body` text NOT NULL,
	`_key` text PRIMARY KEY NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `smart_wallets_history` (
	`_body` text NOT NULL,
	`_key` text NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL,
	`_valid_from` text NOT NULL,
	`_valid_to` text NOT NULL,
	`_ended_by` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `smart_wallets_history_by_key` ON `smart_wallets_history` (`_key`,`_valid_to`);--> statement-breakpoint
CREATE TABLE `smart_wallets` (
	`_body` text NOT NULL,
	`_key` text PRIMARY KEY NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `usage` (
	`_fetched_at` text NOT NULL,
	`_body` text NOT NULL,
	`_key` text PRIMARY KEY NOT NULL,
	`_first_seen_at` text NOT NULL,
	`_changed_at` text NOT NULL,
	`_walk_id` integer NOT NULL
);
