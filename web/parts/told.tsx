/** A sentence of the service, with its times as times. */

import type { Phrase } from '../../src/serve/ui/wire.ts';
import { Time } from './time.tsx';

export function Told({ phrase }: { phrase: Phrase }) {
  return (
    <>{phrase.map((piece) => (typeof piece === 'string' ? piece : <Time key={piece.at} at={piece.at} />))}</>
  );
}
