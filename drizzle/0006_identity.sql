CREATE TABLE `identity` (
	`id` integer PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`epoch` text NOT NULL
);
