/** How many walks of a dataset the page shows at once: the service reads no more of them. */

/** As many as can be told apart on a small screen. */
export const SHOWN_WALKS = 24;
