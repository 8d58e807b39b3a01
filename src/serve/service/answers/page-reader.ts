/** The bytes of a page: kept from an earlier call, or read from the mirror; compressed for those who take it so. */

import { Failure } from '../../../errors.ts';
import type { ListedJob } from '../../../job-list.ts';
import type { Filters } from '../../../reading/filters.ts';
import type { Frame, Moment } from '../../../reading/pages.ts';
import type { Paging } from './asked.ts';
import { pageFrame } from './body.ts';
import type { Encoding } from './compress.ts';
import { createKeptPages } from './kept-pages.ts';
import type { Mirror, OpenMirror } from './mirror.ts';
import type { MomentFinder } from './moments.ts';

export type Page = {
  readonly job: ListedJob;
  readonly moment: Moment;
  readonly paging: Paging;
  /** Null where every row is left. */
  readonly filters: Filters | null;
};

/** What is smaller is not worth the work on either side. */
const COMPRESSED_FROM_BYTES = 1_000;

type Read = { bytes: Buffer; encoding: Encoding };

/** Which rows of the moment the page is cut from, and how many there are. */
type Source = { total: number; read(open: OpenMirror, paging: Paging, frame: Frame): Buffer };

/** Where a page comes from. */
export type PageSource = 'kept' | 'read';

/**
 * @param momentOf as of `momentFinder`.
 * @param told where each page came from that was answered.
 * @returns what reads a page, which its ETag names: `gone` where its moment was forgotten meanwhile, `unavailable` where the
 * mirror cannot be read now, or too many others are filtering.
 */
export function pageReader(
  mirror: Pick<Mirror, 'read'>,
  momentOf: MomentFinder,
  told: (source: PageSource) => void,
) {
  const kept = createKeptPages();

  return async function readPage(
    page: Page,
    etag: string,
    asked: { readonly encoding: Encoding; readonly gone: AbortSignal },
    account: string,
  ): Promise<Read | 'gone' | 'unavailable'> {
    const { encoding } = asked;
    const found = kept.find(etag, encoding);
    if (found) {
      told('kept');
      return { bytes: found, encoding };
    }
    const known = kept.find(etag, 'identity');
    const plain = known ?? (await readPlain(page, etag, asked, account));
    if (typeof plain === 'string') return plain;
    told(known ? 'kept' : 'read');
    if (encoding === 'identity' || plain.length < COMPRESSED_FROM_BYTES)
      return { bytes: plain, encoding: 'identity' };
    return { bytes: await kept.encoded(etag, plain, encoding), encoding };
  };

  async function readPlain(page: Page, etag: string, asked: { readonly gone: AbortSignal }, account: string) {
    const { moment, filters } = page;
    const source = filters === null ? unfiltered(moment) : await filtered(page, filters, account, asked.gone);
    if (source === undefined) return 'unavailable';
    const read = mirror.read((open) => open.connection.transaction(() => bodyOf(page, source, open))());
    if (read === undefined) return 'unavailable';
    if (read.bytes === null) return 'gone';
    kept.keep(etag, read.bytes);
    return read.bytes;
  }

  function bodyOf({ job, moment, paging }: Page, { total, read }: Source, open: OpenMirror) {
    // History may have been forgotten since the moment was found.
    if (typeof momentOf(open, job, moment.seq) === 'string') return { bytes: null };
    return { bytes: read(open, paging, pageFrame(job, moment.generatedAt, paging, total)) };
  }

  async function filtered(
    { moment }: Page,
    filters: Filters,
    account: string,
    gone: AbortSignal,
  ): Promise<Source | undefined> {
    const asked = mirror.read((open) => open.filtered.filtered(moment, filters, account, gone));
    const matches = await asked?.catch(unlessBug);
    if (matches === undefined || typeof matches === 'string') return undefined;
    const { total } = matches;
    return {
      total,
      read: (open, { offset, limit }, frame) => open.filtered.readMatches(matches, offset, limit, frame),
    };
  }
}

/** The mirror was replaced or closed under the scan, or its disk fails: the next look at it tells the operator. */
function unlessBug(thrown: unknown): undefined {
  if (!(thrown instanceof Failure) || thrown.kind === 'bug') throw thrown;
}

const unfiltered = (moment: Moment): Source => ({
  total: moment.total,
  read: ({ pages }, { offset, limit }, frame) => pages.readPage(moment, offset, limit, frame),
});
