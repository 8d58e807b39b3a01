/** SQL, and what it says, that means the same wherever it stands; apart from the schema, so that readers load no Drizzle. */

/** SQL over `walks`: what counts as complete is a walk that proved it, or a snapshot, which is whole by nature. */
export const PROOF = `status = 'complete' AND verdict IN ('snapshot', 'verified')`;

/** The same of a verdict that was read. */
export const isProof = (verdict: string | null) => verdict === 'snapshot' || verdict === 'verified';

/**
 * What counts as seen is the latest walk or glance that looked at the head and ended well: what came by then is here. It
 * says nothing of what is gone.
 */
export const SEEN = `status = 'complete'`;

/** A proof that read the dataset whole, where others looked at its first page alone. */
export const FULL_PROOF = `${PROOF} AND probe_of IS NULL`;

/** SQL for the number of the commit (see `records/changes.ts`) that made a change at the time in `at`, a column. */
export const seqOf = (at: string) => `CAST(round((julianday(${at}) - 2440587.5) * 86400000) AS INTEGER)`;

/** A name of a table or column, whatever it is made of. */
export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
