// The contract that decided a call: its conditions with the compared values, and its text in the agent's version.
import { type JSX, useMemo } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useCall } from '../../lib/query.ts';
import { Data } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';

interface Condition {
  readonly path?: unknown;
  readonly operator?: unknown;
  readonly expected?: unknown;
  readonly actual?: unknown;
  readonly result?: unknown;
}

type Whole = Reply<'getEvent'>;

const results: { readonly [result: string]: readonly [tone: string, word: string] } = {
  yes: ['tone-deny', 'met'],
  no: ['muted', 'not met'],
  fault: ['tone-ask', 'could not be compared'],
  skipped: ['muted', 'not reached'],
};

const conditionsIn = (value: unknown): readonly Condition[] =>
  Array.isArray(value) ? value.slice(0, 100).filter((one) => typeof one === 'object' && one !== null) : [];

/** A value in one line: `"text"`, `12`, `[1,2]`, or `missing`. */
const valueText = (value: unknown): string =>
  value === undefined || value === null ? 'missing' : (JSON.stringify(value) ?? 'missing');

function ConditionList({
  title,
  list,
}: {
  readonly title: string;
  readonly list: readonly Condition[];
}): JSX.Element {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ul className="feed">
        {list.map((condition, index) => {
          const result = String(condition.result ?? 'skipped');
          const [tone, word] = results[result] ?? ['muted', result];
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: the order is the order of evaluation
            <li key={index} className="feed-row">
              <span>
                <Data text={String(condition.path ?? '?')} max={200} />{' '}
                <span className="muted">{String(condition.operator ?? '').slice(0, 40)}</span>{' '}
                <Data text={valueText(condition.expected)} max={300} />
                <br />
                <span className="muted">actual</span> <Data text={valueText(condition.actual)} max={300} />
              </span>
              <span className={tone}>{word}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** The conditions of the event and of its outcomes. */
export function Conditions({ event }: { readonly event: Whole }): JSX.Element {
  const own = conditionsIn(event.payload?.conditions);
  return (
    <>
      {own.length > 0 && <ConditionList title="Conditions" list={own} />}
      {event.outcomes.map((outcome, index) => {
        const list = conditionsIn((outcome as { readonly conditions?: unknown }).conditions);
        if (list.length === 0) return null;
        const title = `Conditions of ${outcome.decision_name ?? 'the outcome'}`;
        // biome-ignore lint/suspicious/noArrayIndexKey: outcomes are only added
        return <ConditionList key={index} title={title} list={list} />;
      })}
    </>
  );
}

/**
 * The lines of the entry with this id in a YAML list, without their common indentation.
 * @returns null if the document has no such entry
 */
export function contractLines(yaml: string, id: string): string | null {
  const lines = yaml.split('\n');
  const unquoted = (text: string): string => text.trim().replace(/^(["'])(.*)\1$/, '$2');
  const isNamed = (line: string): boolean => {
    const idMatch = /^\s*(?:-\s+)?id:\s*(.*?)\s*(?:\s#.*)?$/.exec(line);
    return idMatch !== null && unquoted(idMatch[1] ?? '') === id;
  };
  const indentOf = (line: string): number => line.length - line.trimStart().length;
  for (const [at, line] of lines.entries()) {
    if (!isNamed(line)) continue;
    let first = at;
    const own = indentOf(line);
    // If the id is not the first key, the entry starts at the dash above.
    while (first >= 0 && !/^\s*-\s/.test(lines[first] ?? '')) first -= 1;
    const start = lines[first];
    if (start === undefined || (first !== at && indentOf(start) >= own)) continue;
    const indent = indentOf(start);
    let end = first + 1;
    const isInside = (next: string): boolean => next.trim() === '' || indentOf(next) > indent;
    while (end < lines.length && isInside(lines[end] ?? '')) end += 1;
    const entry = lines.slice(first, end).map((one) => one.slice(indent));
    return entry.join('\n').trimEnd();
  }
  return null;
}

/** The contract's text in the bundle version of the agent. */
export function ContractText({ event }: { readonly event: Whole }): JSX.Element | null {
  const { policy_bundle: bundle, payload } = event;
  const id = typeof payload?.decision_name === 'string' ? payload.decision_name : '';
  if (!bundle || id === '') return null;
  return <TextOf id={id} name={bundle.name} version={bundle.version} />;
}

function TextOf({
  id,
  name,
  version,
}: {
  readonly id: string;
  readonly name: string;
  readonly version: number;
}): JSX.Element {
  const bundleYamlQuery = useCall('getBundleYaml', { params: { name, version } });
  const yaml = typeof bundleYamlQuery.data === 'string' ? bundleYamlQuery.data : '';
  const text = useMemo(() => contractLines(yaml, id), [yaml, id]);
  return (
    <section aria-label="Contract">
      <h2>
        Contract in <Data text={name} max={100} /> v{version}
      </h2>
      <QueryResult query={bundleYamlQuery} rows={3}>
        {() =>
          text === null ? (
            <p className="muted">This version does not contain the contract.</p>
          ) : (
            <pre className="code">
              <Data text={text} max={10_000} />
            </pre>
          )
        }
      </QueryResult>
    </section>
  );
}
