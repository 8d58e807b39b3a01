/** SQL over `walks`: what counts as complete is a walk that proved it, or a snapshot, which is whole by nature. */
export const PROOF = `status = 'complete' AND verdict IN ('snapshot', 'verified')`;
