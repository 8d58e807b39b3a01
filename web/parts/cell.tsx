/** One value of a table: aligned by its kind, linked where it is an address, and opened where it is long. */

import { useState } from 'preact/hooks';
import type { PageCell } from '../../src/serve/ui/wire.ts';
import { bytes, count, momentOf, number } from '../formats.ts';
import { laidOut, webAddress } from '../kinds.ts';
import { Dialog } from './dialog.tsx';
import { Time } from './time.tsx';

/** Longer texts are cut, and opened by a button beside them. */
const MOST_LETTERS = 96;

/** @param label of the column, for those who open its value. */
export function Cell({ value, label }: { value: PageCell; label: string }) {
  if (value === null) return <span class="null">null</span>;
  if (typeof value === 'number') return <>{number(value)}</>;
  if (typeof value === 'string') return <TextCell text={value} label={label} />;
  if ('integer' in value) return <>{value.integer.replace(/\B(?=(\d{3})+$)/g, ',')}</>;
  return <span class="null">{bytes(value.bytes)}</span>;
}

function TextCell({ text, label }: { text: string; label: string }) {
  if (momentOf(text) !== null) return <Time at={text} />;
  const address = webAddress(text);
  if (address !== null)
    return (
      <a href={address} target="_blank" rel="noopener noreferrer" title={text}>
        <LongText text={text.replace(/^https?:\/\//i, '')} whole={text} label={label} />
      </a>
    );
  if (text === '') return <span class="null">empty</span>;
  return <LongText text={text} whole={text} label={label} />;
}

function LongText({ text, whole, label }: { text: string; whole: string; label: string }) {
  const [isOpen, setOpen] = useState(false);
  const line = text.replace(/\s+/g, ' ');
  if (line.length <= MOST_LETTERS && line === text) return <>{text}</>;
  const open = (event: Event) => {
    event.preventDefault();
    event.stopPropagation();
    setOpen(true);
  };
  const size = count(text.length, 'letter');
  return (
    <>
      {line.length <= MOST_LETTERS ? line : `${cutAt(line, MOST_LETTERS)}…`}{' '}
      <button type="button" class="more" onClick={open} aria-label={`${size}: show all of ${label}`}>
        {size}
      </button>
      {isOpen && <WholeText text={whole} label={label} close={() => setOpen(false)} />}
    </>
  );
}

export function WholeText({ text, label, close }: { text: string; label: string; close(): void }) {
  const [isRaw, setRaw] = useState(false);
  const [isCopied, setCopied] = useState(false);
  const lines = laidOut(text);
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true));
  return (
    <Dialog title={label} close={close}>
      <div class="tools">
        {lines !== null && (
          <button type="button" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
            As received
          </button>
        )}
        {/* Only where the connection is private do browsers allow it. */}
        {isSecureContext && (
          <button type="button" onClick={copy}>
            {isCopied ? 'Copied' : 'Copy'}
          </button>
        )}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <pre class="whole" tabIndex={0}>
        {lines !== null && !isRaw ? lines : text}
      </pre>
    </Dialog>
  );
}

/** Never between the two halves of a letter. */
function cutAt(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}
