// Calls that a person keeps with what should come of them: run by the document as it is typed, in and out as files of
// `reeve-agent test`.
import { type JSX, useId, useMemo, useState } from 'react';
import { compileBundle } from '../../../../packages/agent/src/rules/evaluate/compile.ts';
import type { DryRun } from '../../../../packages/agent/src/rules/evaluate/playground.ts';
import { counted } from '../../lib/text.ts';
import { download } from '../../ui/download.ts';
import { Icon } from '../../ui/icons.tsx';
import { say } from '../../ui/overlay.tsx';
import { Button, Data, Field } from '../../ui/parts.tsx';
import {
  type Call,
  callOf,
  casesText,
  type Kept,
  keptOf,
  parseArgs,
  readCaseFile,
  readKept,
  runKept,
  writeKept,
} from './call.ts';

/** Bytes of a file of cases. */
const maxFile = 1_000_000;
const document = 'bundle.yaml';

export function Cases({
  text,
  call,
  result,
  onCall,
}: {
  readonly text: string;
  readonly call: Call;
  /** What the document makes of the call; null while it cannot be told. */
  readonly result: DryRun | null;
  readonly onCall: (call: Call) => void;
}): JSX.Element {
  const [cases, setCases] = useState(readKept);
  const [name, setName] = useState('');
  const [refused, setRefused] = useState<string | null>(null);
  const file = useId();
  const keep = (next: readonly Kept[]): void => {
    setCases(next);
    writeKept(next);
  };
  const add = (more: readonly Kept[]): void =>
    keep([...cases.filter((one) => !more.some((other) => other.name === one.name)), ...more]);
  const outcomes = useMemo(() => {
    if (cases.length === 0) return null;
    const compiled = compileBundle(text, {});
    return compiled.ok ? cases.map((one) => runKept(compiled.bundle, one)) : null;
  }, [text, cases]);
  const args = parseArgs(call.args);
  const passed = outcomes?.filter(({ ok }) => ok).length ?? 0;
  const load = async (chosen: File | undefined): Promise<void> => {
    if (!chosen) return;
    try {
      if (chosen.size > maxFile) throw new Error('The file is larger than a million bytes.');
      const read = readCaseFile(await chosen.text());
      add(read);
      setRefused(null);
      say(`${counted(read.length, 'case')} read.`, 'allow');
    } catch (error) {
      setRefused((error as Error).message);
    }
  };
  return (
    <section className="form" aria-label="Cases">
      <div className="filter-bar">
        <Field label="Keep this call as" value={name} maxLength={120} onValue={setName} />
        <Button
          disabled={name.trim() === '' || !args.ok || result === null}
          onClick={() => {
            if (!args.ok || result === null) return;
            const expect = { verdict: result.verdict, contract: result.deciding_contract };
            add([keptOf(name.trim(), call, args.value, expect)]);
            setName('');
            say('The call is kept in this browser, with what came of it.', 'allow');
          }}
        >
          Keep
        </Button>
      </div>
      {outcomes && (
        <p className={passed === cases.length ? 'tone-allow' : 'tone-deny'} role="status">
          {passed} of {counted(cases.length, 'case')} as expected.
        </p>
      )}
      {cases.length > 0 && (
        <ul className="feed" aria-label="Kept calls">
          {cases.map((one, i) => (
            <li key={one.name} className="feed-row">
              <span>
                {outcomes && (
                  <span className={outcomes[i]?.ok ? 'tone-allow' : 'tone-deny'}>
                    <Icon name={outcomes[i]?.ok ? 'check' : 'x'} />
                    <span className="heard">{outcomes[i]?.ok ? 'as expected' : 'not as expected'}</span>
                  </span>
                )}{' '}
                <button type="button" className="cell-link" onClick={() => onCall(callOf(one))}>
                  <Data text={one.name} max={120} mono={false} />
                </button>{' '}
                {outcomes?.[i]?.failures.map((failure) => (
                  <span key={failure} className="muted">
                    <Data text={failure} mono={false} max={200} />{' '}
                  </span>
                ))}
              </span>
              <Button
                kind="quiet"
                icon="trash"
                aria-label={`Forget ${one.name.slice(0, 80)}`}
                onClick={() => keep(cases.filter((other) => other !== one))}
              />
            </li>
          ))}
        </ul>
      )}
      <div className="decide-buttons starters">
        <Button
          icon="download"
          disabled={cases.length === 0}
          onClick={() => download('cases.yaml', 'application/yaml', casesText(document, cases))}
        >
          Cases as YAML
        </Button>
        <Button icon="download" onClick={() => download(document, 'application/yaml', text)}>
          Document
        </Button>
        <label className="button" htmlFor={file}>
          <Icon name="upload" /> Read cases
          <input
            id={file}
            type="file"
            className="heard"
            accept=".yaml,.yml"
            onChange={(event) => {
              void load(event.target.files?.[0]);
              event.target.value = '';
            }}
          />
        </label>
      </div>
      {refused && (
        <p className="field-error" role="alert">
          <Data text={refused} mono={false} max={400} />
        </p>
      )}
      <p className="muted">
        Kept in this browser. <code>reeve-agent test cases.yaml</code> runs the file beside the document.
      </p>
    </section>
  );
}
