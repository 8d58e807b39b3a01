ALTER TABLE `walks` ADD `kind` text DEFAULT 'walk' NOT NULL;--> statement-breakpoint
ALTER TABLE `walks` ADD `new_in_head` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `walks` ADD `new_at_tail` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `walks` ADD `new_elsewhere` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `walks` ADD `glanced` integer DEFAULT 0 NOT NULL;