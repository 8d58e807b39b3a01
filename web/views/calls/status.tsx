/** The status of an answer, by colour and by number, and below it what was wrong. */

import type { PageCell } from '../../../src/serve/ui/wire.ts';
import { Code } from '../walks/parts.tsx';

export function CallStatus({ status, error }: { status: PageCell; error: PageCell }) {
  return (
    <>
      <span class={`tag ${tagOf(status)}`}>{status === null ? 'no answer' : String(status)}</span>
      {error !== null && (
        <div>
          <Code text={String(error)} />
        </div>
      )}
    </>
  );
}

function tagOf(status: PageCell): string {
  if (status === null) return 'bad';
  const number = Number(status);
  return number === 429 ? 'warn' : number >= 400 ? 'bad' : 'good';
}
