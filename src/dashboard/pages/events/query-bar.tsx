// The query bar: the text that filters the events, completions for its fields and values, and its first mistake. A text
// with a mistake is not sent.
import { type JSX, type KeyboardEvent, useId, useRef, useState } from 'react';
import { eventGrammar } from '../../../event/rules/query/fields.ts';
import { useCommand } from '../../lib/commands.ts';
import { problemOf, useEventQuery } from '../../lib/event-query.ts';
import { visible } from '../../lib/text.ts';
import { Icon } from '../../ui/icons.tsx';
import { Button, Data } from '../../ui/parts.tsx';

/** Values to offer, by field: the ones with calls in the present range come first. */
export type QueryValues = { readonly [field: string]: readonly string[] };

const maxChoices = 8;

interface Completion {
  /** Replaces the word at the end of the text. */
  readonly text: string;
  readonly label: string;
}

/** The word at the end of a text that a person is typing. */
const lastWord = (text: string): string => /[^\s]*$/.exec(text)?.[0] ?? '';

function completionsOf(text: string, values: QueryValues): readonly Completion[] {
  const word = lastWord(text);
  const [, sign = '', field = '', start] = /^(-?)([\w.]*)(?::(.*))?$/.exec(word) ?? [];
  if (word === '' || word === '-') return [];
  if (start === undefined) {
    return eventGrammar.fields
      .filter(({ name }) => name.startsWith(field))
      .map(({ name, kind }) => `${sign}${name}${kind === 'path' ? '.' : ':'}`)
      .map((whole) => ({ text: whole, label: whole }));
  }
  const known = eventGrammar.fields.find(({ name }) => name === field);
  const choices = known && 'choices' in known ? Object.keys(known.choices as object) : (values[field] ?? []);
  return choices
    .filter((value) => value.startsWith(start) && value !== start)
    .map((value) => {
      const quoted = /[\s"()]/.test(value) ? `"${value.replace(/[\\"]/g, '\\$&')}"` : value;
      return { text: `${sign}${field}:${quoted} `, label: `${sign}${field}:${value}` };
    });
}

export function QueryBar({ values }: { readonly values: QueryValues }): JSX.Element {
  const { text: applied, change } = useEventQuery();
  // Another query in the address, from a facet or from Back, replaces the typed text.
  return <Bar key={applied} applied={applied} values={values} onQuery={change} />;
}

function Bar({
  applied,
  values,
  onQuery,
}: {
  readonly applied: string;
  readonly values: QueryValues;
  readonly onQuery: (text: string) => void;
}): JSX.Element {
  const [text, setText] = useState(applied);
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  useCommand('searchEvents', () => field.current?.focus());
  const problem = problemOf(text);
  const choices = open ? completionsOf(text, values).slice(0, maxChoices) : [];
  const take = (choice: Completion): void => {
    setText(text.slice(0, text.length - lastWord(text).length) + choice.text);
    setAt(0);
    field.current?.focus();
  };
  const run = (): void => {
    setOpen(false);
    if (problem === null && text.trim() !== applied) onQuery(text.trim());
  };
  const press = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const choice = choices[at];
    if (step !== 0 && choices.length > 0) setAt((at + step + choices.length) % choices.length);
    else if (event.key === 'Tab' && choice && !event.shiftKey) take(choice);
    else if (event.key === 'Enter') run();
    else if (event.key === 'Escape' && choices.length > 0) setOpen(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <search className="query-bar">
      <div className="search-field">
        <Icon name="search" />
        <input
          ref={field}
          role="combobox"
          aria-label="Query"
          aria-expanded={choices.length > 0}
          aria-controls={`${id}-list`}
          aria-activedescendant={choices[at] ? `${id}-${at}` : undefined}
          aria-invalid={problem !== null || undefined}
          aria-describedby={problem ? `${id}-problem` : undefined}
          placeholder="verdict:denied tool:run_sql args.path:*.env"
          value={text}
          maxLength={1_000}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => {
            setText(event.target.value);
            setOpen(true);
            setAt(0);
          }}
          onKeyDown={press}
          onBlur={() => setOpen(false)}
        />
        {text !== '' && (
          <Button
            kind="quiet"
            aria-label="Clear query"
            onClick={() => {
              setText('');
              onQuery('');
            }}
          >
            <Icon name="x" />
          </Button>
        )}
      </div>
      <div
        id={`${id}-list`}
        role="listbox"
        aria-label="Completions"
        className="query-choices"
        hidden={choices.length === 0}
      >
        {choices.map((choice, index) => (
          <div
            key={choice.text}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            className="query-choice"
            onMouseDown={(event) => {
              event.preventDefault();
              take(choice);
            }}
          >
            {visible(choice.label)}
          </div>
        ))}
      </div>
      {problem && text.trim() !== '' && (
        <p id={`${id}-problem`} className="field-error" role="alert">
          <span className="query-wrong">
            <Data text={text.slice(problem.position, problem.position + problem.length) || 'End'} max={80} />
          </span>
          : position {problem.position}, expected {problem.expected}.
        </p>
      )}
    </search>
  );
}
