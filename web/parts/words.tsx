/** What the words and signs of the page mean. */

import { Fact } from './heading.tsx';
import { Dialog } from './menus.tsx';
import { outcomes, Sign } from './proof.tsx';

/** As the README has them. */
const words: readonly (readonly [word: string, meaning: string])[] = [
  ['walk', 'a full read of a dataset, page by page'],
  ['glance', 'a quick check of its first pages, for new rows'],
  ['proof, verdict', 'how complete a walk was; the signs below tell them apart'],
  ['fresh, stale', 'whether the last proof is younger than the age at which the schedule wants another'],
  ['held', 'a row that the last proof did not show, and that may still be there'],
  ['drift', 'a difference from the specification'],
  ['quarantine', 'rows that break it, kept with the reason'],
  ['governor', 'the rate limiter: every call to the API needs its permit'],
  ['reserve', "calls that are kept back for the governor's own tests"],
  ['history', 'earlier versions of rows, and rows that are gone'],
  ['sink', 'what follows the mirror elsewhere: Postgres or Parquet files'],
];

export const Words = ({ close }: { close(): void }) => (
  <Dialog title="What the words mean" close={close}>
    <dl class="words lines">
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
