import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = readFileSync('docs/governor.md', 'utf8');
const source = (file: string) => readFileSync(`src/governor/${file}.ts`, 'utf8');
const namesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name);

test('the drawing of the governor shows its gates in their order', () => {
  const [, drawn = ''] = /```mermaid\nflowchart(.*?)```/s.exec(page) ?? [];
  const [, listed = ''] = /const gates = \[(.*?)\]/s.exec(source('leave')) ?? [];
  const gates = namesIn(listed, /(\w+Gate)/g);
  expect(gates.length).toBeGreaterThan(4);
  expect([...new Set(namesIn(drawn, /(\w+Gate)/g))]).toEqual(gates);
});

test('the drawing of the governor names every event that the machine knows', () => {
  const events = namesIn(source('events'), /type: '(\w+)'/g);
  expect(events).toContain('ask');
  for (const event of events) expect(page).toMatch(new RegExp(`\\b${event}\\b`));
});

test('the drawing of the governor names every reason to wait', () => {
  const [, reasons = ''] =
    /export type WaitReason =(.*?);/s.exec(readFileSync('src/errors.ts', 'utf8')) ?? [];
  const known = namesIn(reasons, /'(\w+)'/g).filter((reason) => reason !== 'shutdown');
  expect(known.length).toBeGreaterThan(5);
  for (const reason of known) expect(page).toContain(reason);
});
