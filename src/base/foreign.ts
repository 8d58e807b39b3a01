/** Files and folders that decide what is run, or where a secret is sent: nobody else may be able to write them. */

const ROOT = 0;
const WRITABLE_BY_GROUP = 0o020;
const WRITABLE_BY_ALL = 0o002;

/**
 * Who else may write a file or folder, in words that follow its name; undefined where nobody may.
 * @param user who runs this; undefined where there are none.
 * @param allowsOwnGroup a group with the number of the file's owner may write it: it is his alone, where each user has one.
 */
export function whyForeign(
  { mode, uid, gid }: { mode: number; uid: number; gid: number },
  { user, allowsOwnGroup = false }: { user: number | undefined; allowsOwnGroup?: boolean },
): { why: string; isOwned: boolean } | undefined {
  if (user === undefined) return undefined;
  if (uid !== user && uid !== ROOT) return { why: `belongs to another user (${uid})`, isOwned: false };
  const byGroup = mode & WRITABLE_BY_GROUP && !(allowsOwnGroup && gid === uid);
  return byGroup || mode & WRITABLE_BY_ALL
    ? { why: 'may be written by other users', isOwned: true }
    : undefined;
}
