ALTER TABLE `walks` ADD `waits_until` text;--> statement-breakpoint
ALTER TABLE `walks` ADD `waits_for` text;--> statement-breakpoint
-- From now on `memory` holds the whole checkpoint. Unfinished walks continue from it, and the next walk of a dataset is compared with the last one that ended, or with the one whose proof that renewed.
UPDATE `walks` SET `memory` = json_remove(
	json_set(
		`memory`,
		'$.mode', iif(`memory` ->> 'ignoresSnapshot' OR (`memory` ->> 'pagesOfPass' > 0 AND (`generated_at` IS NULL OR `total` IS NULL)), 'anchored', 'snapshot'),
		'$.offset', `next_offset`, '$.pages', `pages`, '$.restarts', `restarts`, '$.stepsBack', `steps_back`, '$.rows', `rows`, '$.unkeyed', `unkeyed`,
		'$.total', `total`, '$.totalFirst', `total_first`, '$.generatedAt', `generated_at`, '$.anomalies', json(`anomalies`)
	),
	'$.dated',
	'$.ignoresSnapshot',
	iif(`memory` ->> 'dated', '$.dated', '$.generatedAt')
) WHERE `pages` > 0 AND (
	`finished_at` IS NULL
	OR `id` IN (SELECT max(`id`) FROM `walks` WHERE `finished_at` IS NOT NULL GROUP BY `job`)
	OR `id` IN (SELECT `probe_of` FROM `walks` WHERE `id` IN (SELECT max(`id`) FROM `walks` WHERE `finished_at` IS NOT NULL GROUP BY `job`))
);
