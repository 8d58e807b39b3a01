/** What is wrong with a report, in one line each with file and line, at `report --check`, `doctor` and `status`; it stops no other report. */

import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { setupReports } from './support.ts';

const select = 'SELECT id FROM ai_signals\n';

/** Name, text of the file, and the line that it gets. */
const wrong: [name: string, text: string, line: string][] = [
  [
    'misspelt',
    `-- title: A\n-- fersh: 10m\n${select}`,
    "misspelt.sql:2: 'fersh:' is no word of a report (did you mean fresh?)",
  ],
  ['unknown', `-- note: A\n${select}`, "unknown.sql:1: 'note:' is no word of a report"],
  [
    'twice',
    `-- run: every 1h\n-- run: on change\n${select}`,
    'twice.sql:2: run: stands twice, first on line 1',
  ],
  ['empty-word', `-- title:\n${select}`, 'empty-word.sql:1: title: says nothing'],
  ['behind', `${select}-- watch: id\n`, 'behind.sql:2: watch: stands behind the beginning of the SQL'],
  ['when', `-- run: hourly\n${select}`, "when.sql:1: run: 'hourly' is neither 'on change'"],
  ['age', `-- fresh: soon\n${select}`, "age.sql:1: fresh: 'soon' is no age such as 10m"],
  ['leaves', `-- to: ../../x.csv\n${select}`, "leaves.sql:1: to: '../../x.csv' leaves the folder"],
  ['absolute', `-- to: /etc/x.csv\n${select}`, "absolute.sql:1: to: '/etc/x.csv' leaves the folder"],
  ['form', `-- to: x.xlsx\n${select}`, "form.sql:1: to: 'x.xlsx' does not say its format: end it in .csv"],
  [
    'mark',
    `-- to: x-{dat}.csv\n${select}`,
    'mark.sql:1: to: {dat} is neither {date} nor {time} (did you mean date?)',
  ],
  [
    'tells',
    `-- tell: row\n${select}`,
    "tells.sql:1: tell: 'row' is none of rows, always, never (did you mean rows?)",
  ],
  ['nobody', `-- tell: never\n${select}`, 'nobody.sql:1: its result goes nowhere'],
  ['silent', `-- tell: never\n-- watch: id\n${select}`, 'silent.sql:2: watch: it is for rows to tell of'],
  ['twin-a', `-- to: same.csv\n${select}`, ''],
  ['twin-b', `-- to: Same.csv\n${select}`, 'twin-b.sql:1: to: twin-a.sql writes that file already'],
  ['a name', select, 'a name.sql: name it with letters, digits'],
  ['tight', `-- fersh:10m\n${select}`, "tight.sql:1: 'fersh:' is no word of a report (did you mean fresh?)"],
  ['tight-age', `-- fresh:soon\n${select}`, "tight-age.sql:1: fresh: 'soon' is no age such as 10m"],
  ['equals', `-- fresh = 10m\n${select}`, 'equals.sql:1: fresh = is no word of a report: write fresh: 10m'],
  ['long', `-- title: ${'x'.repeat(1_100_000)}\n${select}`, 'long.sql: is larger than 1 MB'],
];

/** These need the mirror to be seen. */
const wrongSql: typeof wrong = [
  [
    'column',
    `-- title: B\nSELECT id,\n  asst FROM ai_signals\n`,
    'column.sql:3: no such column: asst (did you mean asset?)',
  ],
  [
    'watched',
    `-- watch: idd\n${select}`,
    'watched.sql:1: watch: idd is no column of the result (did you mean id?)',
  ],
  [
    'ambiguous',
    '-- watch: a\nSELECT 1 AS a, 2 AS a\n',
    'ambiguous.sql:1: watch: a names 2 columns of the result: give each a name of its own with AS',
  ],
  [
    'unmoved',
    '-- title: E\nSELECT 1 AS one\n',
    'unmoved.sql: it reads no dataset, so no change runs it: add a line such as -- run: every 5m',
  ],
  ['writes', '-- title: C\nDELETE FROM news\n', 'writes.sql: DELETE is not allowed'],
  ['nothing', '-- title: D\n', 'nothing.sql: no SQL was given'],
];

test('each mistake is one line', async () => {
  const right = { right: `-- to: right.csv\n${select}` };
  const files = Object.fromEntries([...wrong, ...wrongSql].map(([name, text]) => [name, text]));
  const { report, run, put, hook, clock } = await setupReports({ ...files, ...right });
  const lines = [...wrong, ...wrongSql].flatMap(([, , line]) => (line === '' ? [] : [line]));
  const checked = await report('--check');
  expect(checked.code).toBe(78);
  expect(checked.stdout).toContain('right: reads ai-signals (proven ');
  const doctor = await run(['doctor', '--offline']);
  for (const line of lines) {
    expect(
      checked.stderr.split('\n').filter((said) => said.startsWith(line)),
      line,
    ).toHaveLength(1);
    expect(doctor.stdout, line).toContain(line);
  }
  const before = await run(['status', '--json']);
  const messages = () =>
    JSON.parse(before.stdout).problems.map(({ message }: { message: string }) => message);
  for (const [, , line] of wrong) if (line) expect(messages().join('\n')).toContain(line);
  expect(before.code).toBe(78);

  // It stops no other report.
  const ran = await report();
  expect(ran.code).toBe(78);
  expect(ran.stdout).toContain('right: 130 rows; right.csv; told');
  for (const [name] of [...wrong, ...wrongSql]) put(name, `-- to: ${name}.csv\n${select}`);
  for (const name of ['a name']) put(name, '');
  clock.advance(1_000);
  expect((await report('right', 'column')).code).toBe(0);
  expect(hook.messages.map(({ report }) => report)).toContain('column');
});

test('no link leads a file out of the folder, no pipe holds up the others, and a name that ends in .SQL is said', async () => {
  const { report, folder, to, put, cwd } = await setupReports({
    linked: `-- to: sub/x.csv\n${select}`,
    two: `-- https://example.com/ and C:\\ are no words of a report\n-- tell:rows\n${select}`,
  });
  const outside = join(cwd, 'outside');
  mkdirSync(outside);
  mkdirSync(to, { mode: 0o700 });
  symlinkSync(outside, join(to, 'sub'));
  writeFileSync(join(folder, 'loud.SQL'), select, { mode: 0o644 });
  execFileSync('mkfifo', ['-m', '600', join(folder, 'pipe.sql')]);
  const { code, stdout, stderr } = await report();
  expect([code, stdout]).toEqual([78, 'two: 130 rows; told\n']);
  expect(stderr.split('\n').sort()).toEqual([
    '',
    `linked.sql:1: to: 'sub/x.csv' leaves the folder of reports, through a link: name a file below MIRROR_REPORTS_TO`,
    'loud.SQL: name it loud.sql',
    'pipe.sql: is no file',
  ]);
  expect(existsSync(join(outside, 'x.csv'))).toBe(false);
  put('linked', `-- to: own/x.csv\n${select}`);
  expect((await report('linked')).code).toBe(0);
});

test('a folder or file that other users may write is refused, and so is a report that is not there', async () => {
  const { report, run, folder } = await setupReports({ one: select, two: select });
  chmodSync(join(folder, 'one.sql'), 0o666);
  const { code, stdout, stderr } = await report();
  expect([code, stdout]).toEqual([78, expect.stringContaining('two: 130 rows; told')]);
  expect(stderr).toContain(
    'one.sql: may be written by other users (0666), and may hold a command: chmod go-w',
  );
  expect(await report('tow')).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('did you mean two?'),
  });
  chmodSync(folder, 0o777);
  const refused = {
    code: 78,
    stderr: expect.stringContaining(`MIRROR_REPORTS: ${folder} may be written by other users (0777)`),
  };
  expect(await report()).toMatchObject(refused);
  expect(await run(['start'])).toMatchObject(refused);
  const gone = await run(['report'], { MIRROR_REPORTS: join(folder, 'gone') });
  expect(gone).toMatchObject({ code: 78, stderr: expect.stringContaining('cannot be read (ENOENT)') });
  expect(await run(['report'], { MIRROR_REPORTS: '' })).toMatchObject({ code: 78 });
});

test('an address of MIRROR_NOTIFY that may not be used is refused, and not shown', async () => {
  const { run } = await setupReports({ one: select });
  for (const [address, why] of [
    ['http://hooks.example.com/x', 'uses http://'],
    ['https://user:word@hooks.example.com/x', 'holds a user name'],
    ['secret-hook', 'is not an address'],
    ['ftp://127.0.0.1/x', 'is not an https:// address'],
  ] as const) {
    const { code, stderr } = await run(['report'], { MIRROR_NOTIFY: address });
    expect([code, stderr]).toEqual([78, expect.stringContaining(`MIRROR_NOTIFY ${why}`)]);
    expect(stderr).not.toContain(address);
  }
});
