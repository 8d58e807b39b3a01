/** Where SQL is written: the editor, once it is loaded; until then, and where it cannot be, a plain field. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { Schema } from '../../../src/serve/ui/wire.ts';
import type { Editor } from '../../editor.ts';

type Props = {
  text: string;
  /** Another one where the text comes from elsewhere: while it is written, the editor is ahead of what is told here. */
  version: number;
  tables: Schema['tables'];
  changed(text: string): void;
  run(): void;
};

const label = 'SQL';

export function SqlInput(props: Props) {
  const { text, version, tables } = props;
  const place = useRef<HTMLDivElement>(null);
  const plain = useRef<HTMLTextAreaElement>(null);
  const editor = useRef<Editor | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [isOpen, setOpen] = useState(false);

  useEffect(() => {
    let isCurrent = true;
    const open = ({ openEditor }: typeof import('../../editor.ts')) => {
      if (!isCurrent || !place.current) return;
      const isWriting = document.activeElement === plain.current;
      editor.current = openEditor(place.current, {
        label,
        text: latest.current.text,
        tables: latest.current.tables,
        changed: (next) => latest.current.changed(next),
        run: () => latest.current.run(),
      });
      setOpen(true);
      if (isWriting) editor.current.focus();
    };
    // Where it cannot be loaded, the plain field stays.
    import('../../editor.ts').then(open).catch(() => undefined);
    return () => {
      isCurrent = false;
      editor.current?.close();
      editor.current = null;
    };
  }, []);
  useEffect(() => editor.current?.setText(latest.current.text), [version]);
  useEffect(() => editor.current?.setSchema(tables), [tables]);

  const runByKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    props.run();
  };
  return (
    <div class="sql-input">
      <div ref={place} hidden={!isOpen} />
      {!isOpen && (
        <textarea
          ref={plain}
          aria-label={label}
          rows={6}
          spellcheck={false}
          value={text}
          onInput={(event) => props.changed(event.currentTarget.value)}
          onKeyDown={runByKey}
        />
      )}
    </div>
  );
}
