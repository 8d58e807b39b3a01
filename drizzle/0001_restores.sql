CREATE TABLE `restores` (
	`id` integer PRIMARY KEY NOT NULL,
	`backup_seq` integer NOT NULL,
	`restored_seq` integer
);
