/** The editor of SQL, loaded when it is opened. In a shadow root its style sheet is made by script, which the policy of the page allows. */

import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { SQLite, sql } from '@codemirror/lang-sql';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { Annotation, Compartment, EditorState, Prec } from '@codemirror/state';
import { drawSelection, EditorView, keymap, lineNumbers, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Schema } from '../src/serve/page/wire.ts';

export type Editor = {
  /** Replaces the whole text, without calling `changed`. */
  setText(text: string): void;
  setSchema(tables: Schema['tables']): void;
  close(): void;
};

type EditorParts = {
  label: string;
  text: string;
  tables: Schema['tables'];
  changed(text: string): void;
  /** Ctrl-Enter, or Cmd-Enter. */
  run(): void;
};

const fromOutside = Annotation.define<true>();

export function openEditor(place: HTMLElement, { label, text, tables, changed, run }: EditorParts): Editor {
  const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' });
  const parent = root.appendChild(document.createElement('div'));
  const language = new Compartment();
  const begin = () => {
    run();
    return true;
  };
  const view = new EditorView({
    root,
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', autocapitalize: 'off' }),
        Prec.highest(keymap.of([{ key: 'Mod-Enter', run: begin }])),
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ activateOnTyping: true, icons: false }),
        // Tab is not among them: it goes on to what follows, as everywhere else.
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap]),
        EditorView.domEventHandlers({ beforeinput: replaceSelected }),
        placeholder('SELECT …'),
        EditorView.lineWrapping,
        language.of(languageFor(tables)),
        syntaxHighlighting(colours),
        look,
        EditorView.updateListener.of(({ docChanged, state, transactions }) => {
          if (docChanged && !transactions.some((one) => one.annotation(fromOutside)))
            changed(state.doc.toString());
        }),
      ],
    }),
  });
  return {
    setText(next) {
      const { length } = view.state.doc;
      if (view.state.doc.toString() === next) return;
      view.dispatch({ changes: { from: 0, to: length, insert: next }, annotations: fromOutside.of(true) });
    },
    setSchema: (next) => view.dispatch({ effects: language.reconfigure(languageFor(next)) }),
    close() {
      view.destroy();
      parent.remove();
    },
  };
}

/** A browser keeps the style of a replaced selection in a style attribute, which the policy refuses: so it is replaced here. */
function replaceSelected(event: InputEvent, view: EditorView): boolean {
  const { state, composing } = view;
  const { from, to, empty } = state.selection.main;
  if (event.inputType !== 'insertText' || event.data === null || empty || composing) return false;
  const text = event.data;
  const insert = () =>
    state.update(state.replaceSelection(text), { userEvent: 'input.type', scrollIntoView: true });
  const isTaken = state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, text, insert));
  if (!isTaken) view.dispatch(insert());
  event.preventDefault();
  return true;
}

function languageFor(tables: Schema['tables']) {
  const schema = Object.fromEntries(
    tables.map(({ name, columns }) => [name, columns.map((one) => one.name)]),
  );
  return [
    sql({ dialect: SQLite, schema, upperCaseKeywords: true }),
    SQLite.language.data.of({ autocomplete: columnsFor(tables) }),
  ];
}

/** Columns of the tables that the text names; until it names one, those of all datasets, since SELECT is written before FROM. */
function columnsFor(tables: Schema['tables']) {
  return (context: CompletionContext): CompletionResult | null => {
    const word = context.matchBefore(/[\p{L}_][\p{L}\p{N}_$]*/u);
    if (!word && !context.explicit) return null;
    const from = word?.from ?? context.pos;
    if (/[.:@$]/.test(context.state.sliceDoc(Math.max(0, from - 1), from))) return null;
    const named = new Set(context.state.doc.toString().match(/[\p{L}_][\p{L}\p{N}_$]*/gu));
    const those = tables.filter(({ name }) => named.has(name));
    const columns = (those.length > 0 ? those : tables.filter(({ kind }) => kind === 'dataset')).flatMap(
      ({ name: table, columns: own }) => own.map(({ name, type }) => ({ name, type, table })),
    );
    return {
      from,
      validFor: /^[\p{L}\p{N}_$]*$/u,
      options: columns.map(({ name, type, table }) => ({
        label: name,
        apply: /^[a-z_][a-z0-9_]*$/i.test(name) ? name : `"${name.replaceAll('"', '""')}"`,
        type: 'property',
        detail: `${table} ${type.toLowerCase()}`.trim(),
        boost: 1,
      })),
    };
  };
}

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: 'var(--accent)', fontWeight: '600' },
  { tag: tags.string, color: 'var(--good)' },
  { tag: tags.special(tags.string), color: 'var(--ink)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: 'var(--ink-soft)', fontStyle: 'italic' },
  { tag: [tags.typeName, tags.standard(tags.name)], color: 'var(--past)' },
  { tag: tags.special(tags.name), color: 'var(--bad)' },
]);

const box = { backgroundColor: 'var(--card)', border: '1px solid var(--line-strong)', borderRadius: '6px' };
const look = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--card)', fontSize: '13.5px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55', maxHeight: '46vh' },
  '.cm-content, .cm-gutter': { minHeight: '9.3em' },
  '.cm-content': { padding: '8px 0', caretColor: 'var(--ink)' },
  '.cm-line': { padding: '0 10px' },
  '.cm-gutters': { color: 'var(--ink-soft)', backgroundColor: 'var(--sunk)', border: '0' },
  '.cm-placeholder': { color: 'var(--ink-soft)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'var(--accent-soft)',
  },
  '&.cm-focused .cm-matchingBracket': {
    backgroundColor: 'var(--accent-soft)',
    outline: '1px solid var(--accent)',
  },
  '.cm-tooltip': box,
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '16em' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '2px 8px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { color: 'var(--ink)', background: 'var(--accent-soft)' },
  '.cm-completionDetail': { color: 'var(--ink-soft)', fontStyle: 'normal', marginLeft: '1em' },
});
