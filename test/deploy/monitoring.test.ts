/** What `deploy/` has for Prometheus and Grafana, held to what the service tells. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { declaredMetrics } from '../../scripts/docs/pages.ts';
import { needs } from '../helpers/tools.ts';

const read = (name: string) => readFileSync(`deploy/${name}`, 'utf8');

function promtool(...args: string[]): { status: number | null; said: string } {
  needs('promtool');
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd: 'deploy/prometheus' });
  return { status, said: `${stdout}${stderr}` };
}

const declared = new Map(declaredMetrics().map((metric) => [metric.name, metric]));
/** Those of Prometheus itself, and those that it adds to every sample of the scrape job. */
const ofPrometheus = ['up', 'ALERTS'];
const added = ['instance', 'job'];

/** What is wrong with the names in an expression. */
function unknownIn(expression: string): string[] {
  const named = [
    ...expression.matchAll(/\b((?:market_mirror|process|nodejs)_\w+|up|ALERTS)\b(?:\{([^}]*)\})?/g),
  ];
  const labels = new Set(added);
  const wrong = named.flatMap(([, name = '', matchers = '']) => {
    const metric = declared.get(name) ?? declared.get(name.replace(/_(bucket|sum|count)$/, ''));
    if (!metric && !ofPrometheus.includes(name)) return [name];
    const own = [...(metric?.labels ?? []), ...(name.endsWith('_bucket') ? ['le'] : []), ...added];
    for (const label of own) labels.add(label);
    const used = [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label);
    return used.filter((label) => !own.includes(label)).map((label) => `${name}{${label}}`);
  });
  const grouped = [...expression.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((label) => label.trim()),
  );
  return [
    ...wrong,
    ...grouped.filter((label) => !labels.has(label)),
    ...(named.length > 0 ? [] : [expression]),
  ];
}

/** `{{job}}` and `{{ $labels.job }}` */
const labelsShown = (text: string) =>
  [...text.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)].map(([, label = '']) => label);

describe('the scrape job', () => {
  const { scrape_configs: jobs } = parse(read('prometheus/market-mirror.yml'));

  test('is one that Prometheus reads', () => {
    expect(promtool('check', 'config', '--syntax-only', 'market-mirror.yml')).toMatchObject({ status: 0 });
  });

  test('leaves the names of datasets as they are, and asks where the service listens', () => {
    expect(jobs).toMatchObject([
      { job_name: 'market-mirror', honor_labels: true, static_configs: [{ targets: ['127.0.0.1:4020'] }] },
    ]);
  });
});

describe('the alerts', () => {
  type Rule = { alert: string; expr: string; annotations: { summary: string; description: string } };
  const rules = (parse(read('prometheus/alerts.yml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
    (group) => group.rules,
  );
  const testFiles = ['alerts.test.yml', 'alerts.days.test.yml'];
  test('are rules that Prometheus reads', () => {
    expect(promtool('check', 'rules', 'alerts.yml')).toMatchObject({ status: 0 });
  });

  test('fire when they are meant to, each alone, and are silent where all is well', () => {
    expect(promtool('test', 'rules', ...testFiles)).toMatchObject({ status: 0 });
  });

  test.each(rules)('$alert asks for what the service tells', ({ expr, annotations }) => {
    expect(unknownIn(expr)).toEqual([]);
    const known = [...declared.values()].flatMap(({ labels }) => labels).concat(added, 'value');
    expect(known).toEqual(expect.arrayContaining(labelsShown(`${annotations.summary}`)));
    expect(annotations.description).toMatch(/\w/);
  });
});

describe('the dashboard', () => {
  type Target = { refId: string; expr: string; legendFormat: string };
  type Panel = {
    id: number;
    type: string;
    title: string;
    gridPos: { x: number; y: number; w: number; h: number };
    datasource?: { uid: string };
    targets?: Target[];
  };
  const board = JSON.parse(read('grafana/market-mirror.json')) as {
    panels: Panel[];
    templating: { list: { name: string; query: string | { query: string } }[] };
  };
  const panels = board.panels.filter(({ type }) => type !== 'row');

  test('declares the variables that it uses', () => {
    const used = [...JSON.stringify(board).matchAll(/\$\{?([a-z]\w*)\}?/g)].map(([, name = '']) => name);
    expect(new Set(used)).toEqual(new Set(board.templating.list.map(({ name }) => name)));
  });

  test.each(panels)('"$title" asks for what the service tells', ({ targets = [] }) => {
    for (const { expr, legendFormat } of targets) {
      expect(unknownIn(expr)).toEqual([]);
      const names = [...expr.matchAll(/[a-z]+_\w+/g)].flatMap(([name]) => declared.get(name)?.labels ?? []);
      expect([...names, ...added]).toEqual(expect.arrayContaining(labelsShown(legendFormat)));
    }
  });
});
