/** The kinds of lists that real APIs have (twins, no key, keys of pairs, ages, prices), and what may happen to one upstream. */

import { seededRandom, startModelApi } from '../../model-api/index.ts';

export type Row = Readonly<Record<string, unknown>>;

export type Kind = {
  job: string;
  /** The row of this serial number; no two are alike. */
  make(serial: number): Row;
  /** Fields that two rows never share, but for twins; none where only the whole row identifies it. */
  key: readonly string[];
  /** A field that says how old the row is, in seconds. */
  age?: string;
  /** A field that changes in all rows at once. */
  price?: string;
  /** What the user may say of the list, and is true. */
  hints: Readonly<Record<string, string>>;
};

const score = (serial: number) => Math.round(seededRandom(serial)() * 1_000) / 1_000;

const lists = {
  ids: {
    job: 'news',
    make: (serial) => ({
      id: serial % 7 === 3 ? `t${serial}` : serial,
      title: `Title ${serial}`,
      by: { name: `N${serial % 11}`, tags: ['a', `t${serial % 5}`] },
    }),
    key: ['id'],
    hints: { KEY: 'id', ROWS: 'rows' },
  },
  slugs: {
    job: 'news',
    make: (serial) => ({ slug: `s${serial}`, title: `Title ${serial}`, score: score(serial) }),
    key: ['slug'],
    hints: { KEY: 'slug' },
  },
  digests: {
    job: 'meme-signals',
    make: (serial) => ({ text: `Post ${serial}`, author: serial % 9, at: { hour: serial % 24 } }),
    key: [],
    hints: { VOLATILE: 'none' },
  },
  pairs: {
    job: 'smart-wallets',
    make: (serial) => ({
      chain: ['eth', 'sol', 'bsc'][serial % 3],
      address: `0x${Math.floor(serial / 3)}`,
      name: `W ${serial}`,
    }),
    key: ['chain', 'address'],
    hints: { KEY: 'chain,address' },
  },
  ages: {
    job: 'news',
    make: (serial) => ({ id: `n${serial}`, title: `Title ${serial}`, ageSeconds: 0 }),
    key: ['id'],
    age: 'ageSeconds',
    hints: { VOLATILE: 'ageSeconds' },
  },
  'aged digests': {
    job: 'meme-signals',
    make: (serial) => ({ text: `Post ${serial}`, author: serial % 9, ageSeconds: 0 }),
    key: [],
    age: 'ageSeconds',
    hints: { VOLATILE: 'ageSeconds' },
  },
  prices: {
    job: 'meme-signals',
    make: (serial) => ({ mint: `m${serial}`, name: `Token ${serial}`, price: score(serial) }),
    key: ['mint'],
    price: 'price',
    hints: { KEY: 'mint' },
  },
} satisfies Record<string, Kind>;

const signals = (async (): Promise<Kind> => {
  const model = await startModelApi({ rows: 0 });
  await model.close();
  return {
    job: 'ai-signals',
    make: (serial) => ({ ...model.data.aiSignals.make(1)[0], id: `s${serial}` }),
    key: ['id'],
    hints: { VOLATILE: 'extra' },
  };
})();

export const kinds: Readonly<Record<string, Kind>> = {
  ...lists,
  // A snapshot with `generatedAt`, and the same without.
  published: { ...(await signals), hints: {} },
  signals: { ...(await signals), hints: {} },
};

/** Places are per mille of the rows there are. Edits keep the order of the rows that stay, but for rows that move to the head. */
export type Edit =
  | { edit: 'insert' | 'remove'; at: number; count: number }
  | { edit: 'bump' | 'change' | 'spoil'; at: number }
  | { edit: 'twin'; at: number; to: number }
  | { edit: 'tick' };

/** The rows of a list as they stand upstream. A row is never changed, but replaced. */
export function openList(kind: Kind, size: number) {
  let serial = 0;
  const born = new WeakMap<Row, number>();
  const make = (old: Row = {}): Row => {
    serial += 1;
    const row = { ...kind.make(serial), ...keyOf(old) };
    born.set(row, serial);
    return row;
  };
  /** The same row with other values. */
  const changed = (row: Row, values: Row): Row => {
    const now = { ...row, ...values };
    born.set(now, born.get(row) ?? 0);
    return now;
  };
  const keyOf = (row: Row): Row =>
    Object.fromEntries(kind.key.filter((name) => name in row).map((name) => [name, row[name]]));
  let rows = Array.from({ length: size }, () => make());
  /** Rows that share what might be found as the key: of a pair, one field. */
  const nameOf = (row: Row) => (kind.key.length === 0 ? undefined : String(row[kind.key.at(-1) ?? '']));
  const shared = new Set<string>();
  const noteShared = () => {
    const met = new Set<string>();
    for (const name of rows.map(nameOf)) {
      if (name !== undefined && met.has(name)) shared.add(name);
      if (name !== undefined) met.add(name);
    }
  };
  const edits: { [Name in Edit['edit']]: (edit: Extract<Edit, { edit: Name }>, at: number) => void } = {
    insert: ({ count }, at) => void rows.splice(at, 0, ...Array.from({ length: count }, () => make())),
    remove: ({ count }, at) => void rows.splice(at, Math.ceil((count * rows.length) / 40)),
    bump: (_, at) => void rows.unshift(...rows.splice(at, 1)),
    change: (_, at) => void rows.splice(at, 1, make(rows[at])),
    spoil(_, at) {
      const row = rows[at];
      // Of twins that are refused nobody tells which is which.
      if (row === undefined || shared.has(nameOf(row) ?? '')) return;
      // A page of refused rows alone is joined to no other.
      if (rows.slice(Math.max(0, at - 2), at + 3).some(isSpoiled)) return;
      rows.splice(at, 1, changed(row, spoiled(kind, row)));
    },
    twin({ to }, at) {
      const row = rows[at];
      if (row === undefined || isSpoiled(row) || kind.job === 'ai-signals') return;
      rows.splice(Math.floor((to * rows.length) / 1_000), 0, make(row));
    },
    tick() {
      serial += 1;
      const { price } = kind;
      if (price) rows = rows.map((row) => changed(row, { [price]: score(serial + (born.get(row) ?? 0)) }));
    },
  };
  noteShared();
  return {
    get rows(): readonly Row[] {
      return rows;
    },
    edit(edit: Edit): void {
      rows = [...rows];
      const at = 'at' in edit ? Math.floor((edit.at * rows.length) / 1_000) : 0;
      if (rows.length > 0 || edit.edit === 'insert') edits[edit.edit](edit as never, at);
      noteShared();
    },
    /** Whether another row had, at any time, what might be found as its key. */
    isTwin: (row: Row) => shared.has(nameOf(row) ?? ''),
    /** As it is sent at this time. */
    sent: (row: Row, now: number): Row =>
      kind.age ? { ...row, [kind.age]: Math.floor(now / 1_000) - (born.get(row) ?? 0) } : row,
  };
}

export type List = ReturnType<typeof openList>;

const SPOILED = 'spoiled';

/** Text that no table holds; where there is a contract, one that the stricter one refuses. */
const spoiled = ({ job }: Kind, row: Row): Row =>
  job === 'ai-signals' ? { rationale: `${SPOILED} ${row['id']}` } : { note: `${SPOILED} \ud800` };

export const isSpoiled = (row: Row): boolean =>
  [row['note'], row['rationale']].some((text) => String(text).startsWith(SPOILED));
