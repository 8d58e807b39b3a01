/**
 * A long list of row numbers as a tree of chunks. Where a chunk ends depends on the numbers in it alone, so an edit makes
 * another chunk where it was, another node on each level above, and leaves all others what they are.
 */

import { numberReader, packNumbers, pushNumber, unpackNumbers } from './runs.ts';

/** A chunk, and how many rows are below it. */
export type Entry = { id: number; rows: number };

/** About so many numbers a leaf, and so many entries a node. */
const LEAF_ROWS = 256;
const NODE_ENTRIES = 16;

export type ListBuilder = {
  push(number: number): void;
  /** The root; null for an empty list. */
  end(): Entry | null;
};

/** @param keep keeps the content of a chunk, and returns its id. */
export function createListBuilder(keep: (content: Buffer) => number): ListBuilder {
  const leaves: Entry[] = [];
  let leaf: number[] = [];
  const close = () => {
    if (leaf.length === 0) return;
    leaves.push({ id: keep(Buffer.from([0, ...packNumbers(leaf)])), rows: leaf.length });
    leaf = [];
  };
  return {
    push(number) {
      leaf.push(number);
      if (scattered(number) % LEAF_ROWS === 0) close();
    },
    end() {
      close();
      let entries = leaves;
      for (let level = 1; entries.length > 1; level += 1)
        entries = groupsOf(entries).map((group) => ({
          id: keep(nodeOf(level, group)),
          rows: group.reduce((sum, { rows }) => sum + rows, 0),
        }));
      return entries[0] ?? null;
    },
  };
}

/** Of two entries at least, so that each level is shorter than the one below. */
function groupsOf(entries: readonly Entry[]): Entry[][] {
  const groups: Entry[][] = [];
  let group: Entry[] = [];
  for (const entry of entries) {
    if (group.length === 0) groups.push(group);
    group.push(entry);
    if (group.length > 1 && scattered(entry.id) % NODE_ENTRIES === 0) group = [];
  }
  return groups;
}

function nodeOf(level: number, entries: readonly Entry[]): Buffer {
  const bytes = [level];
  for (const { id, rows } of entries) {
    pushNumber(bytes, id);
    pushNumber(bytes, rows);
  }
  return Buffer.from(bytes);
}

/** Of neighbouring numbers none tells of the next; the same on every machine for ever. */
function scattered(number: number): number {
  let bits = (number % 2 ** 32) | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x45d9f3b);
  bits = Math.imul(bits ^ (bits >>> 16), 0x45d9f3b);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** Gives the content of a chunk. */
export type ReadChunk = (id: number) => Buffer;

/** The numbers from `offset` on, `limit` at most. */
export function numbersAt(read: ReadChunk, root: number, offset: number, limit: number): number[] {
  const content = read(root);
  if (content[0] === 0) return unpackNumbers(content, 1).slice(offset, offset + limit);
  const found: number[] = [];
  let before = 0;
  for (const { id, rows } of entriesOf(content)) {
    if (found.length === limit) break;
    const from = Math.max(0, offset - before);
    if (from < rows) found.push(...numbersAt(read, id, from, limit - found.length));
    before += rows;
  }
  return found;
}

/** The ids of all chunks of a list; reads the nodes alone. */
export function chunksOf(read: ReadChunk, root: number, into = new Set<number>()): Set<number> {
  into.add(root);
  const content = read(root);
  const level = content[0] ?? 0;
  if (level === 0) return into;
  for (const { id } of entriesOf(content)) {
    if (level === 1) into.add(id);
    else chunksOf(read, id, into);
  }
  return into;
}

function* entriesOf(content: Buffer): Generator<Entry> {
  for (const next = numberReader(content, 1); next.at < content.length; ) yield { id: next(), rows: next() };
}
