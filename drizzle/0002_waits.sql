ALTER TABLE `walks` ADD `waits_until` text;--> statement-breakpoint
ALTER TABLE `walks` ADD `waits_for` text;--> statement-breakpoint
-- Earlier releases kept both in words: `waiting until 2026-01-02T03:04:05.678Z (quota)`.
UPDATE `walks` SET `waits_until` = substr(`error`, 15, 24), `waits_for` = rtrim(substr(`error`, 41), ')')
WHERE `status` = 'snoozed' AND `error` GLOB 'waiting until ????-??-??T??:??:??.???Z (*)';--> statement-breakpoint
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
