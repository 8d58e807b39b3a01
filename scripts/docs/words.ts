/** The texts of `docs/tables.md` that no declaration holds: introduction, columns of views and shared columns, examples. */

export const introduction = `# Tables and views

Generated from the schema by \`npm run docs\`; a test fails if it is out of date. Every SQL statement on this page
runs as it is written, in any SQLite tool, while the daemon is running.

- \`SELECT * FROM <dataset>\` shows the dataset as the API has it now, as far as the mirror knows. One row of
  [\`freshness\`](#freshness) says whether to trust it, and as of when.
- Times made by the mirror are ISO 8601 UTC text with milliseconds, so they compare and sort as text. Times from the API
  are kept exactly as received.
- Booleans are 0 or 1. Arrays and objects are JSON text: read them with \`->>\` or \`json_each\`.
- A dataset whose record shape is not specified is kept as received in \`_body\`. \`fields\` lists what was found in it. Member
  names are written without escapes that JSON does not need. A row in which an object has one name twice is in \`quarantine\`.
- A value outside the values or the range named here is stored all the same, and noted in \`drift\`. A row that breaks its
  contract in another way is kept in \`quarantine\`, and the version before it stays.`;

type Words = Record<string, string>;

export const historyOf = (table: string) =>
  `Every version of a row of \`${table}\` that was replaced or removed: the columns of that table, but for what is held, and these.`;

/** @param table what shows them. */
export const rowsApart = (table: string) =>
  `The rows that \`${table}\` shows lie here, with their numbers. Ask \`${table}\`.`;

export const volatileApart = (table: string) =>
  `The volatile values that \`${table}\` shows, apart from the rows, since they change while these do not. A walk brings them up to date as it ends.`;

/** Columns that mean the same in every view that has them. */
export const sharedViewMeanings: Words = {
  position: 'Its position in the list, from 0.',
  version: 'Its number, from 1.',
  valid_from: 'From when the mirror held this version.',
  valid_to: 'Until when. Null for the current version.',
  ended_by: '`update` or `delete`. Null for the current version.',
};

/** Columns that one view computes. */
export const viewMeanings: Record<string, Words> = {
  ai_signal_checks: { check_name: 'The check, one of `quality.checks`.' },
  ai_signal_reason_codes: { reason_code: 'The code, one of `validator.reasonCodes`.' },
  changes: {
    seq: 'Grows with every commit; all changes of one commit share it.',
    at: 'When the change came into the mirror.',
    table: 'The table of the dataset.',
    key: "The row's `_key`.",
    change: '`insert`, `update` or `delete`.',
    walk_id: 'The walk or glance that found it (`walks.id`).',
  },
  freshness: {
    rows: 'Rows in the table of the dataset now.',
    held: 'So many of them did the last proof not show, and they stay for now: see `_held_reason`.',
    complete_as_of: 'When the last walk that proved the dataset complete began. Null if none has yet.',
    age_seconds:
      'How long ago that was, by the clock of this machine. Null if that time is in the future: the clock was set back since then, and nobody knows how old the rows are.',
    verdict: 'What that walk proves: `snapshot` or `verified`, see `walks`.',
    status:
      'Status of the latest walk, whatever it proves: `running`, `waiting`, `complete`, `failed`, or `never`. Glances do not count.',
    last_error: 'Why the latest walk waits, failed or proves nothing. Null if all is well.',
    next_due_at: 'When the daemon will mirror the dataset next.',
    seen_as_of:
      'When the latest walk or glance that ended well began: what stood at the head of the dataset by then is here. It proves nothing: rows may be missing elsewhere, and rows that are gone may still be here. Null if there was none, or if that time is in the future.',
    seen_age_seconds: 'How long ago that was, by the clock of this machine. Null where `seen_as_of` is.',
  },
};

/** Columns that mean the same in every table that has them, unless the table says more; those of datasets are in `column-meanings.ts`. */
export const sharedMeanings: Words = {
  _number: 'The number of the row: its rowid.',
  id: 'The number of the row.',
  job: 'The job, such as `ai-signals`.',
  request_id: 'X-Request-ID of the answer, if it had one. The support of the API can find the call by it.',
  walk_id: 'The walk (`walks.id`).',
};

/** A query that shows the use of a table; views bring their own. */
export const examples: Record<string, string> = {
  ai_signals: `SELECT asset, action, confidence, entry_price, rationale
FROM ai_signals WHERE quality_publishable AND quality_grade = 'A'
ORDER BY confidence DESC LIMIT 20`,
  ai_signals_history: `SELECT _valid_from, _valid_to, _ended_by, status, confidence, entry_price
FROM ai_signals_history WHERE id = 'an id' ORDER BY _valid_from`,
  news: `SELECT _key, json(_body) AS received FROM news ORDER BY _first_seen_at DESC LIMIT 20`,
  fields: `SELECT "column", path, types, nullable, example FROM fields WHERE job = 'news'`,
  walks: `SELECT job, status, verdict, rows, inserted, updated, deleted, api_calls, started_at, error
FROM walks ORDER BY id DESC LIMIT 10`,
  requests: `SELECT substr(at, 1, 13) AS hour, count(*) AS calls, sum(status = 429) AS limited, min(rate_remaining) AS left
FROM requests WHERE at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')
GROUP BY hour ORDER BY hour`,
  quarantine: `SELECT job, problem.value ->> 'path' AS path, problem.value ->> 'expected' AS expected, count(*) AS rows
FROM quarantine, json_each(problems) AS problem
WHERE resolved_at IS NULL GROUP BY job, path, expected ORDER BY rows DESC`,
  drift: `SELECT job, kind, path, detail, times, first_seen_at
FROM drift WHERE first_seen_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-7 days')`,
};
