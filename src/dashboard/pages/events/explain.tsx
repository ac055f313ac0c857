// The reasons of a verdict: the lines of the deciding contract, and the values that its conditions compared. Beside
// them are the contract and the verdict of the version that runs now, and similar calls.
import './events.css';
import { Link } from '@tanstack/react-router';
import { type JSX, useMemo } from 'react';
import { linkTo } from '../../lib/address.ts';
import { addressOf, type Reply } from '../../lib/api.ts';
import { rangeOf } from '../../lib/moving-range.ts';
import { useCall } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { ReportVerdict, type ReportWords } from '../../ui/call-verdict.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Diff } from '../../ui/diff.tsx';
import { DataLink, DataParagraph } from '../../ui/names.tsx';
import { Data, Time, Verdict } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { QuerySection } from '../../ui/section.tsx';
import { contractLines } from './contract-lines.ts';

type Explanation = Reply<'explainEvent'>;
export type Condition = Omit<Explanation['conditions'][number], 'line' | 'result'> & {
  readonly line?: number | null;
  readonly result: string;
};

const results: { readonly [result: string]: readonly [tone: string, word: string] } = {
  yes: ['tone-deny', 'met'],
  no: ['muted', 'not met'],
  fault: ['tone-ask', 'could not be compared'],
  skipped: ['muted', 'not reached'],
  uncertain: ['tone-ask', 'uncertain'],
};

/** Lines of a contract that are displayed, at most. */
const maxLines = 400;

/** A value in one line: `"text"`, `12`, `[1,2]`, or `missing`. */
const valueText = (value: unknown): string =>
  value === undefined || value === null ? 'missing' : (JSON.stringify(value) ?? 'missing');

export const Conditions = ({ conditions }: { readonly conditions: readonly Condition[] }) =>
  conditions.map((condition, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the order is the order of evaluation
    <ConditionRow key={index} condition={condition} />
  ));

function ConditionRow({ condition }: { readonly condition: Condition }): JSX.Element {
  const { path, operator, expected, actual, result } = condition;
  const [tone, word] = results[result] ?? ['muted', result];
  return (
    <p className="explain-condition">
      <Data text={path} max={200} /> <span className="muted">{operator}</span>{' '}
      <Data text={valueText(expected)} max={300} /> <strong className={tone}>{word}</strong>
      <br />
      <span className="muted">actual</span> <Data text={valueText(actual)} max={300} />
    </p>
  );
}

/** The request of an explanation as a command. The shell fills in the token of a service account. */
const curlOf = (input: Parameters<typeof addressOf>[1]): string =>
  `curl -sS '${location.origin}${addressOf('explainEvent', input)}' \\\n  -H "Authorization: Bearer $REEVE_TOKEN"`;

export function Explain({ id, ...words }: ReportWords & { readonly id: string }): JSX.Element {
  const [search] = useFilters();
  const env = useEnv();
  const input = { params: { event_id: id }, query: env ? { env } : {} };
  const moving = rangeOf(search);
  const explanation = useCall('explainEvent', input, { moving });
  return (
    <QuerySection title="Explain" label query={explanation} rows={4}>
      {(data) => (
        <>
          <Decision data={data} {...words} />
          <DataParagraph className="muted" text={data.reason} mono={false} max={400} />
          <Lines data={data} />
          {data.uncertain.length > 0 && (
            <p className="notice notice-ask">
              <span>
                The event contains these values only in part:{' '}
                <Data text={data.uncertain.join(', ')} max={300} />
              </span>
            </p>
          )}
          <Now data={data} />
          {data.similar.count > 0 && (
            <Link to="/explore" search={{ q: data.similar.q } as never}>
              {counted(data.similar.count, 'similar call')} in this range
            </Link>
          )}
          <div>
            <CopyButton
              text={curlOf({ ...input, query: { ...input.query, ...moving.query() } })}
              noun="command"
              label="Copy as curl"
              otherwise="Copy the address of the page."
            />
          </div>
        </>
      )}
    </QuerySection>
  );
}

const sources = { recorded: 'recorded', recomputed: 'recomputed', unavailable: '' } as const;

function Decision({ data, ...words }: ReportWords & { readonly data: Explanation }): JSX.Element {
  const { bundle, contract_id: contract, source } = data;
  const version = bundle && <Data text={`${bundle.name} v${bundle.version}`} max={120} />;
  return (
    <p>
      <ReportVerdict {...words} />
      {contract && (
        <>
          {' '}
          by <DataLink link={linkTo.contract(contract)} text={contract} max={120} />
        </>
      )}
      {bundle && (
        <>
          ,{' '}
          {bundle.deployment_id ? (
            <Link {...linkTo.deployment(bundle.deployment_id)}>{version}</Link>
          ) : (
            version
          )}
          {bundle.at && (
            <span className="muted">
              {' '}
              deployed <Time at={bundle.at} />
              {bundle.by && <Data before=" by " text={bundle.by} mono={false} max={80} />}
            </span>
          )}
        </>
      )}{' '}
      {sources[source] && <span className="tag">{sources[source]}</span>}
    </p>
  );
}

/** The contract's lines, each with its conditions; conditions without a line below them. */
function Lines({ data: { contract, conditions } }: { readonly data: Explanation }): JSX.Element | null {
  const lines = contract ? contract.yaml.split('\n').slice(0, maxLines) : [];
  const first = contract?.first_line ?? 1;
  const isPlaced = ({ line }: Condition): boolean =>
    typeof line === 'number' && line >= first && line < first + lines.length;
  const others = conditions.filter((one) => !isPlaced(one));
  if (lines.length === 0 && others.length === 0) return null;
  return (
    <>
      {lines.length > 0 && (
        <ol className="explain-lines" aria-label="Contract">
          {lines.map((text, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines of one text
            <li key={at}>
              <span className="explain-number" aria-hidden="true">
                {first + at}
              </span>
              <div>
                <code>
                  <Data text={text === '' ? ' ' : text} max={400} />
                </code>
                <Conditions conditions={conditions.filter(({ line }) => line === first + at)} />
              </div>
            </li>
          ))}
        </ol>
      )}
      <Conditions conditions={others} />
    </>
  );
}

/** The version that runs now: its verdict on the call, and the difference of the contract's text. */
function Now({ data }: { readonly data: Explanation }): JSX.Element | null {
  const { now, bundle, contract } = data;
  if (!now || !bundle) return null;
  const isSame = now.version === bundle.version;
  return (
    <>
      <p>
        {isSame ? 'This version still runs: ' : `v${now.version} runs now: `}
        {now.verdict === null ? 'its verdict on this call is uncertain' : <Verdict word={now.verdict} />}
        {!isSame && (now.same_text ? ', with the same text.' : '. The contract changed:')}
      </p>
      {!now.same_text && contract && (
        <TextNow name={bundle.name} version={now.version} id={contract.id} before={contract.yaml} />
      )}
    </>
  );
}

function TextNow({
  name,
  version,
  id,
  before,
}: Readonly<{ name: string; version: number; id: string; before: string }>): JSX.Element {
  const yamlQuery = useCall('getBundleYaml', { params: { name, version } });
  const yaml = typeof yamlQuery.data === 'string' ? yamlQuery.data : '';
  const after = useMemo(() => contractLines(yaml, id), [yaml, id]);
  return (
    <QueryResult query={yamlQuery} rows={3}>
      {() =>
        after === null ? (
          <p className="muted">v{version} does not contain the contract.</p>
        ) : (
          <Diff before={before} after={after} label="Text then and now" max={40} />
        )
      }
    </QueryResult>
  );
}
