// The query bar: the text that filters a page, completions for its fields and values, and its first mistake. A text
// with a mistake is not sent.
import { type JSX, type KeyboardEvent, useId, useRef, useState } from 'react';
import type { QueryGrammar } from '../../event/rules/query/fields.ts';
import { valueTerm } from '../../event/rules/query/print.ts';
import { hasTerm, type PageQuery, type QueryLanguage, readText, toggledTerm } from '../lib/page-query.ts';
import { visible } from '../lib/text.ts';
import { Icon } from './icons.tsx';
import { useKeys } from './keys.ts';
import { Button, Data } from './parts.tsx';
import './query-bar.css';

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

function completionsOf(text: string, { fields }: QueryGrammar, values: QueryValues): readonly Completion[] {
  const word = lastWord(text);
  const match = /^(-?)([\w.]*)(?::(.*))?$/.exec(word);
  if (match === null || word === '' || word === '-') return [];
  const [, sign = '', field = '', start] = match;
  if (start === undefined) {
    return fields
      .filter(({ name }) => name.startsWith(field))
      .map(({ name, kind }) => `${sign}${name}${kind === 'path' ? '.' : ':'}`)
      .map((whole) => ({ text: whole, label: whole }));
  }
  const known = fields.find(({ name }) => name === field);
  const choices = known && 'choices' in known ? Object.keys(known.choices as object) : (values[field] ?? []);
  return choices
    .filter((value) => value.startsWith(start) && value !== start)
    .map((value) => {
      const quoted = /[\s"()]/.test(value) ? `"${value.replace(/[\\"]/g, '\\$&')}"` : value;
      return { text: `${sign}${field}:${quoted} `, label: `${sign}${field}:${value}` };
    });
}

export interface QueryBarProps {
  readonly language: QueryLanguage;
  readonly query: PageQuery;
  readonly placeholder: string;
  readonly values?: QueryValues;
}

/** Another query in the address, from a facet or from Back, replaces the typed text. */
export const QueryBar = (props: QueryBarProps): JSX.Element => <Bar key={props.query.text} {...props} />;

/** Buttons that put words of the field `is` into the query, or take them out. */
export function StateTerms({
  language: { grammar },
  query,
  words,
}: Pick<QueryBarProps, 'language' | 'query'> & {
  readonly words: readonly string[];
}): JSX.Element {
  return (
    <div className="decide-buttons">
      {words.map((word) => {
        const term = valueTerm('is', word);
        return (
          <Button
            key={word}
            kind="quiet"
            aria-pressed={hasTerm(query, term, grammar)}
            onClick={() => query.change(toggledTerm(query, term, grammar))}
          >
            {word.replaceAll('_', ' ')}
          </Button>
        );
      })}
    </div>
  );
}

const noValues: QueryValues = {};

function Bar({ language, query, placeholder, values = noValues }: QueryBarProps): JSX.Element {
  const { text: applied, change } = query;
  const [text, setText] = useState(applied);
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  useKeys({ '/': () => field.current?.focus() });
  const read = readText(text, language);
  const problem = 'problem' in read ? read.problem : null;
  const choices = open ? completionsOf(text, language.grammar, values).slice(0, maxChoices) : [];
  const take = (choice: Completion): void => {
    setText(text.slice(0, text.length - lastWord(text).length) + choice.text);
    setAt(0);
    field.current?.focus();
  };
  const run = (): void => {
    setOpen(false);
    if (problem === null && text.trim() !== applied) change(text.trim());
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
          placeholder={placeholder}
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
              change('');
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
