/** One value of a table, as its kind is read: numbers rounded, times in one zone, addresses cut in the middle, nothing as a dash. */

import { useState } from 'preact/hooks';
import type { PageCell } from '../../src/serve/page/wire.ts';
import { bytes, clockTime, cutAt, cutMiddle, number, shownNumber, timeOf, valueText } from '../formats.ts';
import { prettyJson, webAddress } from '../kinds.ts';
import { usePreferences } from '../preferences.ts';
import { Dialog } from './menus.tsx';
import { Ago, Time } from './time.tsx';

/** How the values of a column are shown; each is found out from the values unless given. */
export type CellLook = {
  /** Its numbers name something: they have no separators. */
  isIdentity?: boolean | undefined;
  /** 0 and 1 are words. */
  isBoolean?: boolean | undefined;
  /** Digits behind the point that all of its numbers have. */
  decimals?: number | undefined;
  /** `relative`: how long ago. `clock`: by the clock, whose zone stands in the head. Else by the clock with its zone. */
  times?: 'relative' | 'clock' | undefined;
};

/** Longer texts are cut, and opened by a button beside them. */
const MAX_LETTERS = 64;
/** Of what has no spaces, such as an address on a chain. */
const MAX_UNBROKEN = 24;
const MAX_ADDRESS_LETTERS = 40;

/** @param label of the column, for those who open its value. */
export function Cell({ value, label, look = {} }: { value: PageCell; label: string; look?: CellLook }) {
  if (value === null) return <Nothing />;
  if (typeof value === 'number') {
    if (look.isBoolean && (value === 0 || value === 1)) return <>{String(value === 1)}</>;
    if (look.isIdentity) return <>{String(value)}</>;
    return <NumberText value={value} decimals={look.decimals} />;
  }
  if (typeof value === 'string') return <TextCell text={value} label={label} times={look.times} />;
  if ('integer' in value) return <>{look.isIdentity ? value.integer : grouped(value.integer)}</>;
  return <span class="null">{bytes(value.bytes)}</span>;
}

const Nothing = () => (
  <span class="null" title="null">
    –
  </span>
);

const grouped = (digits: string) => digits.replace(/\B(?=(\d{3})+$)/g, ',');

/** A longer one is rounded, and whole in its title. */
const NumberText = ({ value, decimals }: { value: number; decimals?: number | undefined }) => (
  <span title={shownNumber(value) === value ? undefined : number(value)}>{valueText(value, decimals)}</span>
);

function TextCell({ text, label, times }: { text: string; label: string; times: CellLook['times'] }) {
  const { zone } = usePreferences();
  const at = timeOf(text);
  if (at !== null) {
    if (times === 'relative') return <Ago at={text} />;
    return times === 'clock' ? <Time at={text} text={clockTime(at, zone)} /> : <Time at={text} />;
  }
  const address = webAddress(text);
  if (address !== null)
    return (
      <a href={address} target="_blank" rel="noopener noreferrer" title={text}>
        {cutMiddle(text.replace(/^https?:\/\/(www\.)?/i, ''), MAX_ADDRESS_LETTERS)}
      </a>
    );
  if (text === '') return <span class="null">empty</span>;
  if (text.length > MAX_UNBROKEN && /^[\w:.-]+$/.test(text))
    return (
      <span class="unbroken" title={text}>
        {cutMiddle(text, 16)}
      </span>
    );
  return <LongText text={listText(text) ?? text} whole={text} label={label} />;
}

/** The names in a list of JSON; null for all else. */
function listText(text: string): string | null {
  if (!text.startsWith('[')) return null;
  try {
    const list = JSON.parse(text) as unknown[];
    if (list.length === 0) return 'none';
    return list.every((item) => typeof item === 'string' && item !== '') ? list.join(', ') : null;
  } catch {
    return null;
  }
}

function LongText({ text, whole, label }: { text: string; whole: string; label: string }) {
  const [isOpen, setOpen] = useState(false);
  const line = text.replace(/\s+/g, ' ');
  const isLong = line.length > MAX_LETTERS;
  if (!isLong && line === text) return <>{text}</>;
  const about = `${number(whole.length)} characters: show all of ${label}`;
  return (
    <>
      {isLong ? `${cutAt(line, MAX_LETTERS)}…` : line}{' '}
      <button type="button" class="small" onClick={() => setOpen(true)} aria-label={about} title={about}>
        Show all
      </button>
      {isOpen && <WholeText text={whole} label={label} close={() => setOpen(false)} />}
    </>
  );
}

export function WholeText({ text, label, close }: { text: string; label: string; close(): void }) {
  const [isRaw, setRaw] = useState(false);
  const lines = prettyJson(text);
  return (
    <Dialog title={label} close={close}>
      <div class="tools">
        {lines !== null && (
          <button type="button" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
            As received
          </button>
        )}
        <Copy text={text} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <pre class="whole" tabIndex={0}>
        {lines !== null && !isRaw ? lines : text}
      </pre>
    </Dialog>
  );
}

type CopyProps = {
  text: string;
  /** What is copied, where the button stands alone. */
  what?: string;
  label?: string;
};

export function Copy({ text, what, label = 'Copy' }: CopyProps) {
  const [isCopied, setCopied] = useState(false);
  // Browsers allow it only where the connection is private.
  if (!isSecureContext) return null;
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  const shown = isCopied ? 'Copied' : label;
  return (
    <button type="button" class="small" onClick={copy} aria-label={what && `${shown} ${what}`}>
      {shown}
    </button>
  );
}
