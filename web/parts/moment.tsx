/** The moment that every view shows: now, or a time of the past; and the way to another. */

import { useRef, useState } from 'preact/hooks';
import { linkHere, usePlace } from '../router.ts';
import { Late } from './late.tsx';
import { Time } from './time.tsx';

const loadChoice = async () => (await import('./moment/choice.tsx')).MomentChoice;

export function Moment() {
  const { at } = usePlace();
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <div class="moment">
      <button type="button" ref={button} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class="unseen">Moment shown: </span>
        {at === null ? 'Now' : 'As of'} {at !== null && <Time at={at} />}
        <span class="arrow" aria-hidden="true">
          {isOpen ? '▴' : '▾'}
        </span>
      </button>
      {at !== null && <a href={linkHere({ at: null })}>Back to now</a>}
      {isOpen && <Late load={loadChoice} props={{ at, close }} />}
    </div>
  );
}
