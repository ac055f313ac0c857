// The playground: a document, a call, and below them the result of each contract and condition. The browser computes
// the result at once, then the hub.
import './playground.css';
import { type JSX, useCallback, useEffect, useMemo, useRef } from 'react';
import { type DryRun, evaluateYaml } from '../../../../packages/agent/src/rules/evaluate/playground.ts';
import { traceCondition } from '../../../../packages/agent/src/rules/evaluate/trace.ts';
import { useDraft } from '../../lib/drafts.ts';
import { useEngineOptions, useProblems } from '../../lib/own-words.ts';
import { useCall } from '../../lib/query.ts';
import { useFilters } from '../../lib/search.ts';
import { Editor } from '../../ui/editor.tsx';
import { PageHead } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { starterBundle } from '../contracts/starters.ts';
import { type Call, firstCall, readCall } from './call.ts';
import { CallForm } from './call-form.tsx';
import { Cases } from './cases.tsx';
import { HubCheck } from './hub-check.tsx';
import { LoadBundle, LoadCall } from './load.tsx';
import { Result } from './result.tsx';

interface DocumentDraft {
  readonly text: string;
  /** Name and version of the initial text; empty for the starter. */
  readonly from: string;
  readonly changed: boolean;
}
const starter: DocumentDraft = { text: starterBundle, from: '', changed: false };

interface CallDraft {
  readonly call: Call;
  /** The event of the initial call; empty for none. */
  readonly from: string;
}
const ownCall: CallDraft = { call: firstCall, from: '' };

/** After a return to this page with unsaved input, restores its source in the address. */
function useNamed(from: string, event: string): void {
  const [search, change] = useFilters();
  const isNamed = useRef(false);
  useEffect(() => {
    if (isNamed.current) return;
    isNamed.current = true;
    if (search.bundle || search.event) return;
    const [bundle = '', version = ''] = from.split(' ');
    if (bundle !== '' || event !== '') change({ bundle, version, event }, true);
  }, [search, from, event, change]);
}

export default function Playground(): JSX.Element {
  const [documentDraft, setDocument] = useDraft<DocumentDraft>('playground');
  const [callDraft, setCall] = useDraft<CallDraft>('playground call');
  const { text, from, changed } = documentDraft ?? starter;
  const { call: draftCall, from: event } = callDraft ?? ownCall;
  // A draft of an earlier console lacks the newer fields.
  const call = useMemo(() => ({ ...firstCall, ...draftCall }), [draftCall]);
  useNamed(from, event);
  const problems = useProblems(text);
  const settings = useCall('toolSettings');
  const engine = useEngineOptions();
  const read = useMemo(() => readCall(call), [call]);
  const result = useMemo((): DryRun | string | null => {
    if (!read.ok) return read.why;
    if (engine === null) return null;
    try {
      const { call, ...options } = read.value;
      return evaluateYaml(text, call, { trace: traceCondition, engine, ...options });
    } catch (error) {
      return (error as Error).message;
    }
  }, [text, read, engine]);
  const load = useCallback(
    (next: string, of: string) => setDocument({ text: next, from: of, changed: false }),
    [setDocument],
  );
  const loadCall = useCallback((next: Call, of: string) => setCall({ call: next, from: of }), [setCall]);
  return (
    <div className="page">
      <PageHead title="Test" summary="Tests send nothing to agents and do not appear in statistics." />
      <div className="columns-main">
        <section className="form" aria-label="Document">
          <LoadBundle from={from} changed={changed} onText={load} onStarter={() => setDocument(null)} />
          <Editor
            label="Bundle as YAML"
            value={text}
            onValue={(next) => {
              if (next !== text) setDocument({ text: next, from, changed: true });
            }}
            problems={problems}
          />
        </section>
        <div className="form">
          <section className="form" aria-label="Call">
            <LoadCall from={event} onCall={loadCall} />
            <CallForm call={call} read={read} onCall={(next) => setCall({ call: next, from: event })} />
          </section>
          <section className="card" aria-label="Result" aria-live="polite">
            {typeof result === 'string' || !read.ok ? (
              <p className="field-error">{String(result)}</p>
            ) : (
              <QueryResult query={settings}>
                {() =>
                  result && (
                    <>
                      <Result dryRun={result} />
                      <HubCheck text={text} read={read.value} here={result} />
                    </>
                  )
                }
              </QueryResult>
            )}
          </section>
        </div>
      </div>
      <Cases
        text={text}
        read={read}
        result={typeof result === 'string' ? null : result}
        onCall={(next) => setCall({ call: next, from: event })}
      />
    </div>
  );
}
