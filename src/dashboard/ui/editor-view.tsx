// The console's CodeMirror set-up: YAML, markers for the rule engine's problems, and completion for the rule language.
import {
  autocompletion,
  type CompletionContext,
  completionKeymap,
  completionStatus,
  startCompletion,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  hoverTooltip,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { type JSX, useEffect, useRef } from 'react';
import { explained, namesTool, offeredAt } from './rule-words.ts';

/** A problem at a position in the text. Lines and columns start at 1. */
export interface EditorProblem {
  readonly line: number;
  readonly column: number;
  readonly severity: 'error' | 'warning' | 'notice';
  readonly message: string;
}

export interface EditorProps {
  /** Accessible name. */
  readonly label: string;
  readonly value: string;
  readonly onValue?: (value: string) => void;
  readonly problems?: readonly EditorProblem[];
  /** Tool names for completion. */
  readonly tools?: readonly string[];
}

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--allow)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--observe)' },
  { tag: [tags.comment, tags.meta], color: 'var(--muted)' },
]);

const look = EditorView.theme({
  '&': { backgroundColor: 'var(--card)', color: 'var(--text)', fontSize: '13px', height: '100%' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--sunken)',
    color: 'var(--muted)',
    border: 'none',
    fontFamily: 'var(--mono)',
  },
  '.cm-activeLine, .cm-activeLineGutter': {
    backgroundColor: 'color-mix(in srgb, var(--accent-soft) 45%, transparent)',
  },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', border: '1px solid var(--line)', color: 'var(--text)' },
  '.cm-tooltip.cm-tooltip-hover': { padding: '4px 8px', maxWidth: '420px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent-soft)',
    color: 'var(--text)',
  },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': {
    backgroundColor: 'var(--accent-soft) !important',
  },
});

const offerOf = (tools: () => readonly string[]) => (context: CompletionContext) => {
  const { state, pos, explicit } = context;
  const word = context.matchBefore(/[\w.*][\w.*/-]*/);
  if (!word && !explicit) return null;
  const options = offeredAt(state.sliceDoc(0, pos), tools());
  if (options.length === 0) return null;
  return {
    from: word?.from ?? pos,
    options: options.map(({ word: label, kind, explanation }) => ({ label, type: kind, info: explanation })),
    validFor: /^[\w.*/-]*$/,
  };
};

const help = hoverTooltip((view, pos) => {
  const line = view.state.doc.lineAt(pos);
  for (const match of line.text.matchAll(/[\w.]+/g)) {
    const from = line.from + match.index;
    const end = from + match[0].length;
    const entry = pos >= from && pos <= end ? explained(match[0]) : undefined;
    if (!entry) continue;
    return {
      pos: from,
      end,
      create() {
        const dom = document.createElement('div');
        dom.textContent = entry.explanation;
        return { dom };
      },
    };
  }
  return null;
});

/**
 * Replaces a selection with the typed text. The browser would copy the old text's look into a style attribute, which
 * the Content-Security-Policy refuses.
 */
const overSelection = EditorView.domEventHandlers({
  beforeinput(event, editor) {
    const { data, inputType } = event;
    const isTyping = inputType === 'insertText' && data !== null && !editor.composing;
    if (!isTyping || editor.state.readOnly || editor.state.selection.main.empty) return false;
    event.preventDefault();
    editor.dispatch(editor.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

/** Next focusable element in the same dialog or page. */
const controlAfter = (place: HTMLElement | null): HTMLElement | undefined =>
  [
    ...(place?.closest('.dialog') ?? document).querySelectorAll<HTMLElement>(
      'button, input, select, textarea, a',
    ),
  ].find(
    (one) =>
      place !== null &&
      (place.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0 &&
      !one.matches(':disabled') &&
      one.checkVisibility(),
  );

export default function EditorViewOf({ label, value, onValue, problems, tools }: EditorProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const change = useRef(onValue);
  change.current = onValue;
  /** Texts that were typed and not yet rendered. A late render of one must not undo what was typed since. */
  const typedTexts = useRef(new Set<string>());
  const toolNames = useRef<readonly string[]>([]);
  toolNames.current = tools ?? [];
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new editor would lose the caret
  useEffect(() => {
    if (!host.current) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' });
    const readOnly = onValue === undefined;
    const editorView = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: value,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          indentOnInput(),
          highlightActiveLine(),
          yaml(),
          syntaxHighlighting(colours),
          look,
          EditorView.lineWrapping,
          // Accessibility checks report a scrollable text as unreachable by keyboard unless it is focusable.
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
          ...(readOnly
            ? [EditorState.readOnly.of(true)]
            : [autocompletion({ override: [offerOf(() => toolNames.current)] })]),
          help,
          overSelection,
          // Escape closes the completion list, or else leaves the editor, because Tab would trap the keyboard in it.
          // The dialog around the editor stays open.
          keymap.of([
            ...completionKeymap,
            ...defaultKeymap,
            ...historyKeymap,
            indentWithTab,
            {
              key: 'Escape',
              stopPropagation: true,
              run: (editor) => {
                const next = controlAfter(host.current);
                if (next) next.focus();
                else editor.contentDOM.blur();
                return true;
              },
            },
          ]),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return;
            const text = update.state.doc.toString();
            typedTexts.current.add(text);
            change.current?.(text);
          }),
        ],
      }),
    });
    view.current = editorView;
    return () => {
      editorView.destroy();
      view.current = null;
    };
  }, [label]);
  // Completion includes names that load while a person types.
  const isNamed = toolNames.current.length > 0;
  useEffect(() => {
    const editor = view.current;
    if (!isNamed || !editor?.hasFocus || completionStatus(editor.state) === 'active') return;
    const { head } = editor.state.selection.main;
    if (namesTool(editor.state.sliceDoc(0, head))) startCompletion(editor);
  }, [isNamed]);
  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const text = editor.state.doc.toString();
    if (text !== value && typedTexts.current.has(value)) return;
    if (text !== value) editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: value } });
    typedTexts.current.clear();
  }, [value]);
  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const { doc } = editor.state;
    const diagnostics: Diagnostic[] = (problems ?? []).flatMap(({ line, column, severity, message }) => {
      // Notices about released clients appear in the list below the editor, folded into one line.
      if (severity === 'notice') return [];
      const at = doc.line(Math.min(doc.lines, Math.max(1, line)));
      const from = Math.min(at.to, at.from + Math.max(0, column - 1));
      return [{ from, to: Math.max(from, at.to), severity, message }];
    });
    editor.dispatch(setDiagnostics(editor.state, diagnostics));
  }, [problems]);
  return <div ref={host} className="editor" />;
}
