/** All rows of an answer as a file, with its receipt: what is in it, as of when, and what of it is proven. */

import { useState } from 'preact/hooks';
import type { Sql } from '../question.ts';

const formats = { csv: 'CSV', ndjson: 'NDJSON', parquet: 'Parquet' } as const;
type Format = keyof typeof formats;

type Question = Sql | { ask: string };

type DownloadMenuProps = {
  question: Question;
  /** The same with only the columns that are shown, where there are others. */
  visible?: Question;
  /** How the file's name begins. */
  name?: string;
  /** The moment that is shown; null for now. */
  asOf: string | null;
};

export function DownloadMenu({ question, visible, name, asOf }: DownloadMenuProps) {
  const [isVisibleOnly, setVisibleOnly] = useState(false);
  const [begun, setBegun] = useState<{ format: Format; path: string } | null>(null);
  const begin = (format: Format) => {
    const asked = visible && isVisibleOnly ? visible : question;
    const path = `/page/downloads/${crypto.randomUUID()}`;
    const query = new URLSearchParams({
      format,
      ...('sql' in asked ? { sql: asked.sql, params: JSON.stringify(asked.params) } : asked),
      ...(asOf !== null && { asOf }),
      ...(name && { name }),
    });
    setBegun({ format, path });
    const link = document.createElement('a');
    link.href = `${path}?${query}`;
    link.download = '';
    link.click();
  };
  return (
    <details class="menu">
      <summary class="button">Download</summary>
      <div class="menu-box">
        <p class="note">All matching rows{visible && ', all columns'}.</p>
        {visible && (
          <label>
            <input type="checkbox" checked={isVisibleOnly} onChange={() => setVisibleOnly(!isVisibleOnly)} />{' '}
            Visible columns only
          </label>
        )}
        <div class="tools">
          {(Object.keys(formats) as Format[]).map((format) => (
            <button key={format} type="button" onClick={() => begin(format)}>
              {formats[format]}
            </button>
          ))}
        </div>
        <div role="status">
          {begun && (
            <p>
              The {formats[begun.format]} file is on its way.{' '}
              <a href={`${begun.path}/receipt`} target="_blank" rel="noopener noreferrer">
                Its receipt
              </a>{' '}
              is there once it is whole.
            </p>
          )}
        </div>
      </div>
    </details>
  );
}
