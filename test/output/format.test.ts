import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { Cell, Rows } from '../../src/output/answer.ts';
import { csv, json, markdown, ndjson } from '../../src/output/forms.ts';
import { table } from '../../src/output/table.ts';
import { needs } from '../helpers/tools.ts';

/** Rows with these names of columns, in these batches. */
function rowsOf(names: string[], ...batches: Cell[][][]): Rows {
  async function* each() {
    yield* batches;
  }
  return { columns: names.map((name) => ({ name, type: null })), batches: each() };
}

async function textOf(pieces: AsyncGenerator<string, void>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

/** The CSV, and how many cells got an apostrophe. */
async function csvOf(rows: Rows, exact: boolean) {
  const defused = { cells: 0 };
  return { text: await textOf(csv(rows, exact, defused)), defused: defused.cells };
}

/** Texts that have broken somebody's format before. */
const nasty = [
  '',
  ' ',
  'a,b',
  'say "hi"',
  "it's",
  'two\nlines',
  'a\r\nb',
  '\\',
  '|',
  '<b>',
  'null',
  'é😀',
  '\u202e',
];

describe('json', () => {
  it('is one array of objects, whatever the batches', async () => {
    const names = ['id', 'text'];
    const rows: Cell[][] = nasty.map((text, at) => [at, text]);
    const text = await textOf(json(rowsOf(names, rows.slice(0, 5), [], rows.slice(5))));
    expect(JSON.parse(text)).toEqual(rows.map(([id, value]) => ({ id, text: value })));
    expect(JSON.parse(await textOf(json(rowsOf(names))))).toEqual([]);
  });

  it('keeps every digit, names columns apart and writes bytes as sqlite-utils does', async () => {
    const row = [9223372036854775807n, new Uint8Array([255]), -0.5];
    const text = await textOf(ndjson(rowsOf(['n', 'n', 'n:1'], [row])));
    expect(text).toBe('{"n":9223372036854775807,"n:1":{"$base64":true,"encoded":"/w=="},"n:1:1":-0.5}\n');
  });

  it('shows a terminal nothing that it would obey, and reads back the same', async () => {
    const text = 'a\u001b[31m\u007f\u009b\u202e\u2066\ufeff\u{e0041}z';
    const written = await textOf(ndjson(rowsOf(['t'], [[text]])));
    expect(written).toMatch(/^[\x20-\x7e]*\n$/);
    expect(JSON.parse(written)).toEqual({ t: text });
  });
});

describe('csv', () => {
  const readByPython = (text: string) =>
    JSON.parse(
      execFileSync('python3', ['-c', 'import csv,json,sys; print(json.dumps(list(csv.reader(sys.stdin))))'], {
        input: text,
        env: { ...process.env, PYTHONIOENCODING: 'utf8' },
      }).toString(),
    );

  it('reads back as it was, in another language', async () => {
    needs('python3');
    const kept = nasty.filter((text) => !text.includes('\r'));
    const rows = kept.map((value, at) => [at, value]);
    const { text } = await csvOf(rowsOf(['id', 'te"xt'], rows), true);
    expect(readByPython(text)).toEqual([['id', 'te"xt'], ...kept.map((value, at) => [String(at), value])]);
  });

  it('tells null from an empty text, and leaves no line out, even of one column of nulls', async () => {
    expect((await csvOf(rowsOf(['a', 'b'], [[null, '']]), false)).text).toBe('a,b\n,""\n');
    expect((await csvOf(rowsOf(['a'], [[null], ['x']]), false)).text).toBe('a\n""\nx\n');
  });

  const formulas = ['=1+1', '+cmd', '-cmd', '@SUM(A1)', '\tx', '\rx', '＝1', '-1+2', '+49 30 1234'];
  const harmless: Cell[] = ['-1', '+1.5', '-0.25', -3, 2.5, 'a=b', 'x', '1-2', null];

  it('defuses what a spreadsheet would run, wherever it begins a cell', async () => {
    const names = formulas.map((_, at) => `c${at}`);
    const { text, defused } = await csvOf(rowsOf(names, [formulas]), false);
    // Python takes a carriage return for the end of a row.
    expect(readByPython(text.replace('\rx', '\tx'))[1]).toEqual(
      formulas.map((formula) => `'${formula.replace('\r', '\t')}`),
    );
    expect(defused).toBe(formulas.length);
    const within = [
      ['x;=1+1', "x;'=1+1"],
      ['y\t=1+1', "y\t'=1+1"],
      ['z\n=1+1\r\n@SUM(A1)', "z\n'=1+1\r\n'@SUM(A1)"],
      ['=1;=2', "'=1;'=2"],
      ['a;-5;+1.5\n-2', 'a;-5;+1.5\n-2'],
      ['a; =1\r\n\r\nb', 'a; =1\r\n\r\nb'],
    ] as const;
    const rows = rowsOf(
      ['a', 'b'],
      within.map(([formula]) => [formula, 1]),
    );
    const read = readByPython((await csvOf(rows, false)).text).slice(1);
    expect(read).toEqual(within.map(([, expected]) => [expected, '1']));
  });

  it('leaves numbers and everything harmless as it is', async () => {
    const names = harmless.map((_, at) => `c${at}`);
    const { text, defused } = await csvOf(rowsOf(names, [harmless]), false);
    expect([text.split('\n')[1], defused]).toEqual(['-1,+1.5,-0.25,-3,2.5,a=b,x,1-2,', 0]);
  });
});

describe('a table', () => {
  const plain = (_: unknown, text: string) => text;
  const tableOf = async (width: number, names: string[], ...rows: Cell[][]) => {
    const notes: string[] = [];
    const text = await textOf(table(rowsOf(names, rows), width, plain, notes));
    return { lines: text.trimEnd().split('\n'), cut: notes.length > 0 };
  };

  it('cuts the widest values to the terminal, and knows that it did', async () => {
    const { lines, cut } = await tableOf(30, ['id', 'text', 'n'], ['abc', 'x'.repeat(100), 1]);
    expect(lines[1]).toBe(`abc  ${'x'.repeat(21)}…  1`);
    expect(cut).toBe(true);
  });

  it('counts what a terminal shows, not code units', async () => {
    const { lines } = await tableOf(20, ['text', 'n'], ['漢字'.repeat(20), 1], ['é'.repeat(40), 2]);
    expect(lines.slice(1)).toEqual(['漢字漢字漢字漢字…  1', `${'é'.repeat(16)}…  2`]);
  });

  it('shows nothing that a terminal would obey, in values and in names', async () => {
    const { lines } = await tableOf(80, ['a\u001b[2J'], ['x\u001b]0;title\u0007\ny\u202ez']);
    expect(lines).toEqual(['a\\u{1b}[2J', 'x\\u{1b}]0;title\\u{7}\\ny\\u{202e}z']);
  });
});

it('Markdown keeps its cells, whatever is in them', async () => {
  const row = ['x|y\nz', '<img src=x> *b* `c` [d](e) \u001b'];
  const text = await textOf(markdown(rowsOf(['a|b', 'c'], [row])));
  expect(text).toBe(
    '| a\\|b | c |\n| --- | --- |\n| x\\|y<br>z | \\<img src=x> \\*b\\* \\`c\\` \\[d](e) \\\\u{1b} |\n',
  );
});
