/** What a query process makes of the rows of a question that came through `serve`: bytes, of which each part is bounded. */

import type { Cell } from '../../output/answer.ts';
import { exportAnswer, type Order } from '../export.ts';
import type { Opened } from '../query.ts';
import { type FileEnd, type LinesEnd, MAX_ANSWER_BYTES, MAX_CELL_BYTES } from '../served-query.ts';
import { judge } from './proof.ts';

export type Reading = {
  readonly opened: Opened;
  /** As SQLite gives them; either these are read, or `batches`. */
  readonly rows: Iterable<unknown[]>;
  readonly batches: Iterable<Cell[][]>;
  /** Resolves when more is asked for. */
  send(response: { piece: Uint8Array }): Promise<void>;
};

/** What is sent at once: passed on, it must keep nobody else waiting. */
const PIECE_BYTES = 256 * 1_024;

/** Looks for the first row. */
export function checkFirst({ rows }: Reading): null {
  for (const _ of rows) break;
  return null;
}

/** Sends `{"rows":[[…],…]}` a line, in the cells of `PageCell` (serve/ui/wire.ts). */
export async function sendLines({ batches, send }: Reading, limit: number): Promise<LinesEnd> {
  const cutter = cutCells();
  const end: LinesEnd = { rows: 0, isCut: false, notes: [] };
  let bytes = 0;
  read: for (const batch of batches) {
    const lines: string[] = [];
    for (const row of batch) {
      end.isCut = end.rows === limit;
      const line = end.isCut ? undefined : lineOf(cutter.row(row), MAX_ANSWER_BYTES - bytes);
      if (line === undefined) {
        await sendRows(lines, send);
        if (!end.isCut) end.notes.push(describeCutAnswer(end.rows));
        end.isCut = true;
        break read;
      }
      end.rows += 1;
      bytes += Buffer.byteLength(line);
      lines.push(line);
    }
    await sendRows(lines, send);
  }
  if (cutter.cut() > 0) end.notes.push(describeCutCells(cutter.cut()));
  return end;
}

const describeCutAnswer = (rows: number) =>
  `the answer is cut at ${MAX_ANSWER_BYTES / 1_000_000} MB, after ${rows} row(s): ask for fewer columns, or download it`;

const describeCutCells = (cells: number) =>
  `${cells} cell(s) are cut at ${MAX_CELL_BYTES / 1_000_000} MB: market-mirror query and export have them whole`;

async function sendRows(lines: readonly string[], send: Reading['send']): Promise<void> {
  if (lines.length > 0) await sendInPieces(`{"rows":[${lines.join(',')}]}\n`, send);
}

async function sendInPieces(text: string | Uint8Array, send: Reading['send']): Promise<void> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    await send({ piece: bytes.subarray(at, at + PIECE_BYTES) });
}

/** A row as JSON; undefined where that would have more than `room` bytes. */
function lineOf(row: readonly Cell[], room: number): string | undefined {
  const cells: string[] = [];
  let length = row.length + 1;
  for (const cell of row) {
    const json = JSON.stringify(shownCell(cell));
    length += json.length;
    if (length > room) return undefined;
    cells.push(json);
  }
  const line = `[${cells.join(',')}]`;
  return Buffer.byteLength(line) > room ? undefined : line;
}

function shownCell(cell: Cell): string | number | null | { integer: string } | { bytes: number } {
  if (typeof cell === 'bigint') return { integer: String(cell) };
  if (typeof cell === 'number' && !Number.isFinite(cell)) return String(cell);
  return cell instanceof Uint8Array ? { bytes: cell.length } : cell;
}

/** Sends the file that `export` writes. */
export async function exportFile(reading: Reading, order: Order, asOf: string | null): Promise<FileEnd> {
  const { opened, send } = reading;
  const cutter = cutCells();
  const judged = judge(opened.sources, asOf, {}, Date.parse(order.exportedAt));
  async function* batches() {
    for (const batch of reading.batches) yield batch.map((row) => cutter.row(row, true));
  }
  const exported = await exportAnswer({ ...opened, ...judged, batches: batches() }, order, async (piece) => {
    await sendInPieces(piece, send);
    return true;
  });
  return { ...exported, cutCells: cutter.cut() };
}

/** Cuts texts, and bytes where they are not only counted, to `MAX_CELL_BYTES`. */
function cutCells() {
  let cut = 0;
  const cutCell = (cell: Cell, withBytes: boolean): Cell => {
    // No letter has more bytes than three for each of its units.
    if (typeof cell === 'string' && cell.length * 3 > MAX_CELL_BYTES) return cutText(cell);
    if (!withBytes || !(cell instanceof Uint8Array) || cell.length <= MAX_CELL_BYTES) return cell;
    cut += 1;
    return cell.subarray(0, MAX_CELL_BYTES);
  };
  const cutText = (text: string): string => {
    const size = Buffer.byteLength(text);
    if (size <= MAX_CELL_BYTES) return text;
    cut += 1;
    const bytes = Buffer.from(text.slice(0, MAX_CELL_BYTES)).subarray(0, MAX_CELL_BYTES);
    // Half of a letter at the end is left out.
    const kept = new TextDecoder().decode(bytes, { stream: true });
    return `${kept}… [cut: the first ${MAX_CELL_BYTES / 1_000_000} MB of ${Math.ceil(size / 1_000_000)} MB]`;
  };
  return {
    row: (row: readonly Cell[], withBytes = false): Cell[] => row.map((cell) => cutCell(cell, withBytes)),
    cut: () => cut,
  };
}
