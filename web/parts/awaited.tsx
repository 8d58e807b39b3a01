/** What stands before an answer, or in its place: what went wrong, that it takes its time, that there is none yet. */

import type { Asked } from '../asking.ts';
import { Running } from './running.tsx';
import { Failed, Loading } from './states.tsx';

type Props = {
  asked: Asked<unknown>;
  /** What is done until there is something to show. */
  loading?: string;
  /** Something is shown, be it of the answer before. */
  isThere?: boolean;
};

export function Awaited({ asked, loading = 'Loading', isThere = asked.value !== null }: Props) {
  return (
    <>
      {asked.trouble && <Failed trouble={asked.trouble} again={asked.again} />}
      <Running asked={asked} />
      {!isThere && asked.isLoading && <Loading what={loading} />}
    </>
  );
}
