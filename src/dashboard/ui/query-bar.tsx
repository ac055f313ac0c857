// The query bar: the text that filters a page, completions for its fields and values, and its first mistake. A text
// with a mistake is not sent.
import { Autocomplete } from '@base-ui/react/autocomplete';
import { type ComponentProps, type JSX, useEffect, useId, useRef, useState } from 'react';
import { displayWord } from '../../../packages/agent/src/rules/state-words.ts';
import { parseQuery } from '../../event/rules/query/parse.ts';
import { valueTerm } from '../../event/rules/query/print.ts';
import { hasTerm, type PageQuery, type QueryLanguage, toggledTerm } from '../lib/page-query.ts';
import { type Completion, completionsOf, lastTerm, type QueryValues } from '../lib/query-completion.ts';
import { count, visible } from '../lib/text.ts';
import { Icon } from './icons.tsx';
import { useKeys } from './keys.ts';
import { Button, Data } from './parts.tsx';
import { SavedViews } from './saved-views.tsx';
import './query-bar.css';

const maxChoices = 8;

export interface QueryBarProps {
  readonly language: QueryLanguage;
  readonly query: PageQuery;
  readonly placeholder: string;
  readonly values?: QueryValues;
  /** Called with the text that a person begins or changes; with null when the person leaves or submits it. */
  readonly onText?: (text: string | null) => void;
}

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
            {displayWord(word)}
          </Button>
        );
      })}
    </div>
  );
}

const noValues: QueryValues = {};

function problemIn(text: string, language: QueryBarProps['language']) {
  const query = parseQuery(text, language.grammar);
  return 'problem' in query ? query.problem : null;
}

interface ProblemProps {
  readonly id: string;
  readonly text: string;
  readonly position: number;
  readonly length: number;
  readonly expected: string;
}

function Problem({ id, text, position, length, expected }: ProblemProps): JSX.Element {
  return (
    <p id={id} className="field-error" role="alert">
      <span className="query-wrong">
        <Data text={text.slice(position, position + length) || 'End'} max={80} />
      </span>
      : position {position}, expected {expected}.
    </p>
  );
}

/** The text in the bar. Another query in the address, from a facet or from Back, replaces it. */
function useText({ text: applied, change }: PageQuery) {
  const [text, setText] = useState(applied);
  const sent = useRef(applied);
  useEffect(() => {
    if (sent.current === applied) return;
    sent.current = applied;
    setText(applied);
  }, [applied]);
  /** The field keeps its focus: without it, the next letters would be commands. */
  const submit = (next: string): void => {
    sent.current = next;
    setText(next);
    if (next !== applied) change(next);
  };
  return { text, setText, submit };
}

const Choices = (): JSX.Element => (
  <Autocomplete.List aria-label="Completions" className="query-choices">
    {(choice: Completion) => (
      <Autocomplete.Item key={choice.text} value={choice} className="query-choice row apart">
        {visible(choice.label)}
        {choice.count !== undefined && <span className="muted numbers">{count(choice.count)}</span>}
      </Autocomplete.Item>
    )}
  </Autocomplete.List>
);

export function QueryBar({
  language,
  query,
  placeholder,
  values = noValues,
  onText,
}: QueryBarProps): JSX.Element {
  const { text, setText, submit } = useText(query);
  const [open, setOpen] = useState(false);
  const highlighted = useRef<Completion | undefined>(undefined);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  useKeys({ '/': () => field.current?.focus() });
  const problem = problemIn(text, language);
  const choices = open ? completionsOf(text, language.grammar, values).slice(0, maxChoices) : [];
  const completed = (choice: Completion): string =>
    text.slice(0, text.length - lastTerm(text).length) + choice.text;
  const write = (next: string): void => {
    setText(next);
    onText?.(next);
  };
  const press: ComponentProps<typeof Autocomplete.Input>['onKeyDown'] = (event) => {
    const [first] = choices;
    if (event.key === 'Tab' && first && !event.shiftKey) write(completed(highlighted.current ?? first));
    else if (event.key === 'Escape') {
      // The library would empty the field.
      event.preventBaseUIHandler();
      if (!first) return;
      setOpen(false);
    } else if (event.key === 'Enter' && highlighted.current === undefined) {
      setOpen(false);
      onText?.(null);
      if (problem === null) submit(text.trim());
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <search className="query-bar">
      <Autocomplete.Root
        inline
        open={choices.length > 0}
        onOpenChange={setOpen}
        mode="none"
        items={choices}
        itemToStringValue={completed}
        value={text}
        onValueChange={(next) => {
          write(next);
          setOpen(true);
        }}
        highlightItemOnHover={false}
        onItemHighlighted={(choice) => {
          highlighted.current = choice;
        }}
      >
        <div className="search-field row">
          <Icon name="search" />
          <Autocomplete.Input
            ref={field}
            aria-label="Query"
            aria-expanded={choices.length > 0}
            aria-invalid={problem !== null || undefined}
            aria-describedby={problem ? `${id}-problem` : undefined}
            placeholder={placeholder}
            maxLength={1_000}
            spellCheck={false}
            onKeyDown={press}
            onFocus={() => onText?.(text)}
            onBlur={() => {
              setOpen(false);
              onText?.(null);
            }}
          />
          {text !== '' && (
            <Button
              kind="quiet"
              aria-label="Clear query"
              onClick={() => {
                // This button goes with the text.
                field.current?.focus();
                onText?.('');
                submit('');
              }}
            >
              <Icon name="x" />
            </Button>
          )}
          <SavedViews page={language.page} query={query} />
        </div>
        {choices.length > 0 && <Choices />}
      </Autocomplete.Root>
      {problem && text.trim() !== '' && <Problem id={`${id}-problem`} text={text} {...problem} />}
    </search>
  );
}
