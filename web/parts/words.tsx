/** What the words and signs of the page mean. */

import { Fact } from './heading.tsx';
import { Dialog } from './menus.tsx';
import { outcomes, Sign } from './proof.tsx';

/** As the README has them. */
const words: readonly (readonly [word: string, meaning: string])[] = [
  ['walk', 'a full read of a dataset, page by page'],
  ['glance', 'a quick check of its first pages, for new rows'],
  ['proof, verdict', 'how complete a walk was; the signs below tell them apart'],
  ['fresh, stale', 'the last full read is recent enough for its schedule, or is not'],
  ['held', 'missing from the last full read; removed if the next one confirms it'],
  ['drift', 'a difference from the specification'],
  ['quarantine', 'rows that break it, kept with the reason'],
  ['governor', 'the rate limiter: every call to the API needs its permit'],
  ['reserve', 'calls the rate limiter keeps to test whether the quota is back'],
  ['history', 'earlier versions of rows, and rows that are gone'],
  ['sink', 'a copy kept up to date elsewhere: Postgres or Parquet files'],
];

export const Words = ({ close }: { close(): void }) => (
  <Dialog title="What the words mean" close={close}>
    <dl class="facts">
      {words.map(([word, meaning]) => (
        <Fact key={word} name={word}>
          {meaning}
        </Fact>
      ))}
      {Object.entries(outcomes).map(([outcome, { label, meaning }]) => (
        <Fact
          key={outcome}
          name={
            <>
              <Sign outcome={outcome as keyof typeof outcomes} /> {label}
            </>
          }
        >
          {meaning}
        </Fact>
      ))}
    </dl>
  </Dialog>
);
