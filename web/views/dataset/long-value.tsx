/** A long value, of which only the beginning was sent: the whole is fetched when it is opened. */

import { useState } from 'preact/hooks';
import type { PageQuestion } from '../../../src/serve/ui/wire.ts';
import { bytes } from '../../formats.ts';
import { WholeText } from '../../parts/cell.tsx';
import { answerTo, type Trouble } from '../../service.ts';

const MOST_LETTERS = 80;

type Props = {
  beginning: string;
  label: string;
  /** How many bytes the whole has. */
  size: number;
  /** What asks for the whole. */
  question: PageQuestion;
};

export function LongValue({ beginning, label, size, question }: Props) {
  const [whole, setWhole] = useState<string | null>(null);
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  const [isLoading, setLoading] = useState(false);
  const open = async () => {
    setLoading(true);
    const { value, trouble: failed } = await answerTo(question);
    setLoading(false);
    setTrouble(failed ?? (value.rows.length === 0 ? gone : null));
    if (value?.rows[0]) setWhole(String(value.rows[0][0] ?? ''));
  };
  return (
    <>
      {beginning.replace(/\s+/g, ' ').slice(0, MOST_LETTERS).toWellFormed()}…{' '}
      <button
        type="button"
        class="more"
        disabled={isLoading}
        onClick={open}
        aria-label={`show all of ${label}`}
      >
        {isLoading ? 'reading…' : bytes(size)}
      </button>
      {trouble && <span role="alert"> {trouble.message}</span>}
      {whole !== null && <WholeText text={whole} label={label} close={() => setWhole(null)} />}
    </>
  );
}

const gone: Trouble = { kind: 'incomplete', message: 'this row has changed or gone meanwhile' };
