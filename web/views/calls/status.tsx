/** The status of an answer, by colour and by number. */

import type { PageCell } from '../../../src/serve/page/wire.ts';

export function CallStatus({ status }: { status: PageCell }) {
  if (status === null) return <span class="tag bad">no answer</span>;
  const number = Number(status);
  return <span class={`tag ${number === 429 ? 'warn' : number >= 400 ? 'bad' : 'good'}`}>{number}</span>;
}
