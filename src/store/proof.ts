/** SQL over `walks`: what counts as complete is a walk that proved it, or a snapshot, which is whole by nature. */
export const PROOF = `status = 'complete' AND verdict IN ('snapshot', 'verified')`;

/** A proof that read the dataset whole, where others looked at its first page alone. */
export const FULL_PROOF = `${PROOF} AND probe_of IS NULL`;
