/** The model API in a process of its own, edited all the time. Its parent gets a message of every edit, see `upstream.ts`. */

import {
  type Dataset,
  liveEdit,
  parseFaults,
  type Row,
  sampleKey,
  seededRandom,
  startModelApi,
} from '../../../model-api/index.ts';
import { datasetOf } from '../../../test/helpers/mirror-bench.ts';
import { say, takeOrders } from './processes.ts';
import type { Edit, Order } from './upstream.ts';

const [key = sampleKey.key, mark = '', seed = '1'] = process.argv.slice(2);

const EDITS_EVERY_MS = 40;
const ROWS = { aiSignals: 230, news: 130, smartWallets: 60, memeSignals: 30 };
/** Commands that a shell would run, if a value ever reached one. */
const spikes = [
  `$(touch '${mark}')`,
  `\`touch '${mark}'\``,
  `'; touch '${mark}' #`,
  `"\n touch '${mark}' & "`,
];
const SPIKED = 0.2;

const random = seededRandom(Number(seed));
const model = await startModelApi({
  rows: ROWS,
  seed: Number(seed),
  epoch: Date.now(),
  keys: [{ ...sampleKey, key }],
  keepCalls: 1_000,
});
const lists = Object.entries(datasetOf).map(([job, name]) => ({ job, dataset: model.data[name] }));
for (const { job, dataset } of lists) {
  spike(dataset);
  for (const row of dataset.rows) say(edited(job, dataset, row));
}
let latest = Date.now();
let editing = setInterval(edit, EDITS_EVERY_MS);

takeOrders(model.url, (order: Order) => {
  clearInterval(editing);
  if (order.edit) editing = setInterval(edit, EDITS_EVERY_MS);
  model.faults = parseFaults(order.faults);
  return 0;
});

function edit(): void {
  const { job, dataset } = lists[Math.floor(random() * lists.length)] ?? never();
  // No two states of a list bear the same time.
  latest = Math.max(Date.now(), latest + 1);
  const before = new Map(dataset.rows.map((row) => [row[dataset.idField], row]));
  liveEdit(dataset, random, latest);
  if (dataset.generatedAt !== undefined) dataset.generatedAt = new Date(latest).toISOString();
  for (const row of dataset.rows) {
    const id = row[dataset.idField];
    if (before.get(id) !== row) say(edited(job, dataset, row));
    before.delete(id);
  }
  for (const gone of before.keys()) say<Edit>({ job, at: latest, key: String(gone), row: null });
}

function edited(job: string, dataset: Dataset, row: Row): Edit {
  return { job, at: Date.now(), key: String(row[dataset.idField]), row };
}

function spike(dataset: Dataset): void {
  const { make, idField } = dataset;
  dataset.make = (count, at) =>
    make(count, at).map((row) => {
      if (random() >= SPIKED) return row;
      const spiked = spikes[Math.floor(random() * spikes.length)];
      const text = ['rationale', 'title', 'label'].find((name) => typeof row[name] === 'string') ?? idField;
      return { ...row, [idField]: `${row[idField]}${spiked}`, ...(text !== idField && { [text]: spiked }) };
    });
}

function never(): never {
  throw new Error('there is no list');
}
