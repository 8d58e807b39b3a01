/** SQL for the number of the commit (see `sequence.ts`) that made a change at the time in `at`, a column. */
export const seqOf = (at: string) => `CAST(round((julianday(${at}) - 2440587.5) * 86400000) AS INTEGER)`;
