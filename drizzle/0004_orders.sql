CREATE TABLE `order_chunks` (
	`id` integer PRIMARY KEY NOT NULL,
	`content` blob NOT NULL
);
--> statement-breakpoint
CREATE TABLE `order_releases` (
	`id` integer PRIMARY KEY NOT NULL,
	`job` text NOT NULL,
	`seq` integer NOT NULL,
	`chunks` blob NOT NULL
);
--> statement-breakpoint
CREATE TABLE `orders` (
	`job` text NOT NULL,
	`seq` integer NOT NULL,
	`walk_id` integer NOT NULL,
	`verdict` text NOT NULL,
	`complete_as_of` text NOT NULL,
	`generated_at` text,
	`root` integer,
	`rows` integer NOT NULL,
	`met` integer NOT NULL,
	`top` integer NOT NULL,
	PRIMARY KEY(`job`, `seq`)
);
--> statement-breakpoint
CREATE TABLE `removed_rows` (
	`job` text NOT NULL,
	`number` integer NOT NULL,
	`until` integer NOT NULL,
	`key` text NOT NULL,
	PRIMARY KEY(`job`, `number`, `until`)
);
--> statement-breakpoint
CREATE INDEX `removed_rows_by_time` ON `removed_rows` (`job`,`until`);--> statement-breakpoint
ALTER TABLE `datasets` ADD `order_seq` integer;--> statement-breakpoint
ALTER TABLE `walk_seen` ADD `part` text;