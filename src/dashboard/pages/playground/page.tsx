// Playground: a document left, a call right, what every contract and condition makes of it below; at once in the
// browser, then by the hub.
import { type JSX, useEffect, useMemo, useState } from 'react';
import { type DryRun, evaluateYaml } from '../../../../packages/agent/src/rules/evaluate/playground.ts';
import { type ConditionTrace, traceCondition } from '../../../../packages/agent/src/rules/evaluate/trace.ts';
import type { Input } from '../../lib/api.ts';
import { problemsOf } from '../../lib/engine.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { envs, useFilters } from '../../lib/search.ts';
import { plainJson } from '../../lib/text.ts';
import { Editor } from '../../ui/editor.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Button, Data, Failed, Field, PageHead, Select, Verdict } from '../../ui/parts.tsx';
import { Problems } from '../contracts/form.tsx';
import { starterBundle } from '../contracts/starters.ts';
import { type Call, firstCall, parseArgs } from './call.ts';
import { Cases } from './cases.tsx';
import './playground.css';

export default function Playground(): JSX.Element {
  const [text, setText] = useState(starterBundle);
  const [call, setCall] = useState(firstCall);
  const problems = useMemo(() => problemsOf(text), [text]);
  const args = useMemo(() => parseArgs(call.args), [call.args]);
  const result = useMemo((): DryRun | string => {
    if (!args.ok) return args.why;
    try {
      const principal =
        call.role === '' && call.user === '' ? null : { role: call.role || null, user_id: call.user || null };
      return evaluateYaml(
        text,
        { tool: call.tool, args: args.value, environment: call.environment, principal },
        { trace: traceCondition, ...(call.output === '' ? {} : { output: call.output }) },
      );
    } catch (error) {
      return (error as Error).message;
    }
  }, [text, call, args]);
  return (
    <div className="page">
      <PageHead title="Playground" says="Nothing is sent to an agent, and nothing is counted." />
      <FromEvent onCall={setCall} />
      <div className="playground">
        <section className="form" aria-label="Document">
          <Load onText={setText} />
          <Editor label="Bundle as YAML" value={text} onValue={setText} problems={problems} />
          <Problems of={problems} />
        </section>
        <div className="form">
          <section className="form" aria-label="Call">
            <CallForm call={call} onCall={setCall} error={args.ok ? undefined : args.why} />
          </section>
          <section className="card" aria-label="Result" aria-live="polite">
            {typeof result === 'string' ? <p className="field-error">{result}</p> : <Result of={result} />}
            {args.ok && (
              <Confirm
                text={text}
                call={call}
                args={args.value}
                here={typeof result === 'string' ? null : result}
              />
            )}
          </section>
        </div>
      </div>
      <Cases text={text} call={call} result={typeof result === 'string' ? null : result} onCall={setCall} />
    </div>
  );
}

function Load({ onText }: { readonly onText: (text: string) => void }): JSX.Element | null {
  const bundles = useCall('listBundles', { query: { limit: 1000 } });
  const [name, setName] = useState('');
  const chosen = bundles.data?.find((one) => one.name === name);
  const yaml = useCall(
    'getBundleYaml',
    { params: { name, version: chosen?.latest_version ?? 0 } },
    { enabled: chosen !== undefined },
  );
  useEffect(() => {
    if (yaml.data !== undefined) onText(yaml.data);
  }, [yaml.data, onText]);
  if (!bundles.data || bundles.data.length === 0) return null;
  return (
    <Select
      label="Load a bundle"
      value={name}
      options={[
        ['', 'The starter'],
        ...bundles.data.map((one) => [one.name, `${one.name} v${one.latest_version}`] as const),
      ]}
      onValue={setName}
    />
  );
}

/** A link from an event brings its call here. */
function FromEvent({ onCall }: { readonly onCall: (call: Call) => void }): null {
  const [{ event }] = useFilters();
  const found = useCall('getEvent', { params: { event_id: event ?? '' } }, { enabled: event !== undefined });
  useEffect(() => {
    if (!found.data) return;
    const { tool_name: tool, payload, env } = found.data;
    const principal = (payload?.principal ?? {}) as { readonly [name: string]: unknown };
    const word = (value: unknown): string => (typeof value === 'string' ? value : '');
    onCall({
      ...firstCall,
      tool,
      args: JSON.stringify(payload?.tool_args ?? {}, null, 2),
      environment: env,
      role: word(principal.role),
      user: word(principal.user_id),
    });
  }, [found.data, onCall]);
  return null;
}

function CallForm({
  call,
  onCall,
  error,
}: {
  readonly call: Call;
  readonly onCall: (call: Call) => void;
  readonly error: string | undefined;
}): JSX.Element {
  const change = (name: keyof Call) => (value: string) => onCall({ ...call, [name]: value });
  return (
    <>
      <Field label="Tool" value={call.tool} maxLength={255} onValue={change('tool')} />
      <div className="field">
        <label htmlFor="playground-args">Arguments as JSON</label>
        <textarea
          id="playground-args"
          className="mono"
          rows={5}
          value={call.args}
          aria-invalid={error ? true : undefined}
          spellCheck={false}
          onChange={(event) => change('args')(event.target.value)}
        />
        {error && <p className="field-error">{error}</p>}
      </div>
      <div className="call-fields">
        <Select
          label="Environment of the call"
          value={call.environment}
          options={envs.map((env) => [env, env] as const)}
          onValue={change('environment')}
        />
        <Field label="Role" value={call.role} onValue={change('role')} />
        <Field label="User" value={call.user} onValue={change('user')} />
        <Field
          label="Result of the tool"
          value={call.output}
          onValue={change('output')}
          help="For post contracts."
        />
      </div>
    </>
  );
}

const words = { allow: 'allow', deny: 'deny', approve: 'approve', warn: 'observed' } as const;

function Result({ of }: { readonly of: DryRun }): JSX.Element {
  return (
    <>
      <div className="result-head">
        <h2>
          The call: <Verdict of={words[of.verdict]} />
        </h2>
        {of.deciding_contract && (
          <span>
            decided by <Data text={of.deciding_contract} max={120} />
          </span>
        )}
      </div>
      {of.contracts_evaluated.length === 0 ? (
        <p className="muted">No contract looks at this tool.</p>
      ) : (
        <ol className="results">
          {of.contracts_evaluated.map((one) => (
            <li key={`${one.id}${one.type}`}>
              <details open={one.fired}>
                <summary>
                  <span className={one.fired ? 'tone-deny' : 'tone-allow'}>
                    <Icon name={one.fired ? 'slash' : 'check'} />
                  </span>
                  <Data text={one.id} max={120} /> <span className="tag">{one.type.replace('_', ' ')}</span>
                  <span className="muted">
                    {one.fired
                      ? one.observed
                        ? 'would have fired, only observed'
                        : `fired: ${one.effect}`
                      : 'did not fire'}
                  </span>
                </summary>
                {one.message && (
                  <p>
                    <Data text={one.message} mono={false} max={600} />
                  </p>
                )}
                {one.trace && <Trace of={one.trace} />}
              </details>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

const outcomes = { yes: 'true', no: 'false', fault: 'cannot be told', skipped: 'not needed' } as const;

const joined = { all: 'all of', any: 'any of', not: 'not' } as const;

/** A condition with what it saw; those within one stand below it. */
function Trace({ of }: { readonly of: ConditionTrace }): JSX.Element {
  const says = <span className={of.outcome === 'yes' ? 'tone-deny' : 'muted'}>{outcomes[of.outcome]}</span>;
  if (of.kind === 'leaf') {
    return (
      <div className="trace">
        <Data text={`${of.selector} ${of.operator} ${plainJson(of.operand)}`} max={200} /> is {says}
        {'value' in of && (
          <>
            : it was <Data text={plainJson(of.value)} max={200} />
          </>
        )}
      </div>
    );
  }
  return (
    <div className="trace">
      <span className="tag">{joined[of.kind]}</span> is {says}
      <ul>
        {of.conditions.map((child) => (
          <li key={JSON.stringify(child).slice(0, 400)}>
            <Trace of={child} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The hub's own word on it: the same engine, elsewhere. */
function Confirm(props: {
  readonly text: string;
  readonly call: Call;
  readonly args: object;
  readonly here: DryRun | null;
}): JSX.Element {
  const run = useAction('evaluateBundle');
  const { text, call, args, here } = props;
  const ask = (): void =>
    run.mutate({
      body: {
        yaml_content: text,
        tool_name: call.tool,
        tool_args: args,
        environment: call.environment,
        principal:
          call.role === '' && call.user === ''
            ? null
            : { role: call.role || null, user_id: call.user || null },
        ...(call.output === '' ? {} : { output: call.output }),
      },
    } as Input<'evaluateBundle'>);
  return (
    <div className="form">
      <div>
        <Button busy={run.isPending} onClick={ask}>
          Ask the hub
        </Button>
      </div>
      {run.error && <Failed error={run.error} />}
      {run.data && (
        <p className={here && here.verdict !== run.data.verdict ? 'tone-deny' : 'muted'}>
          The hub says {run.data.verdict}, in {run.data.evaluation_time_ms.toFixed(1)} ms
          {here &&
            (here.verdict === run.data.verdict
              ? ', as this browser does.'
              : '. This browser says otherwise: tell the people who run the hub.')}
        </p>
      )}
    </div>
  );
}
