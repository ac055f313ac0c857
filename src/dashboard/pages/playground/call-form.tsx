// The form of the playground's call: fields of every call, and fields that only some contracts use.
import type { JSX } from 'react';
import { envs } from '../../lib/search.ts';
import { Field, Select } from '../../ui/form.tsx';
import type { Call, Parsed } from './call.ts';

interface Props {
  readonly call: Call;
  readonly read: Parsed;
  readonly onCall: (call: Call) => void;
}

const further: readonly (keyof Call)[] = [
  'claims',
  'metadata',
  'cwd',
  'output',
  'attempts',
  'calls',
  'callsOfTool',
];

export function CallForm({ call, read, onCall }: Props): JSX.Element {
  const change = (name: keyof Call) => (value: string) => onCall({ ...call, [name]: value });
  const wrong = (name: keyof Call): string | undefined =>
    !read.ok && read.field === name ? read.why : undefined;
  const used = further.filter((name) => call[name] !== '').length;
  return (
    <>
      <Field label="Tool" value={call.tool} maxLength={255} onValue={change('tool')} />
      <Json
        label="Arguments as JSON"
        rows={5}
        value={call.args}
        error={wrong('args')}
        onValue={change('args')}
      />
      <div className="call-fields">
        <Select
          label="Call environment"
          value={call.environment}
          options={envs.map((env) => [env, env] as const)}
          onValue={change('environment')}
        />
        <Field label="Role" value={call.role} maxLength={255} onValue={change('role')} />
        <Field label="User" value={call.user} maxLength={255} onValue={change('user')} />
      </div>
      <details open={used > 0}>
        <summary>More fields{used > 0 ? ` (${used} filled in)` : ''}</summary>
        <div className="form">
          <div className="call-fields">
            <Json
              label="Claims as JSON"
              value={call.claims}
              error={wrong('claims')}
              onValue={change('claims')}
            />
            <Json
              label="Metadata as JSON"
              value={call.metadata}
              error={wrong('metadata')}
              onValue={change('metadata')}
            />
            <Field
              label="Folder"
              value={call.cwd}
              maxLength={4096}
              spellCheck={false}
              onValue={change('cwd')}
              help="Used by sandbox contracts."
            />
            <Field
              label="Tool result"
              value={call.output}
              onValue={change('output')}
              help="Used by post contracts."
            />
          </div>
          <fieldset className="call-fields">
            <legend>Earlier session counts, for session contracts and limits</legend>
            {(
              [
                ['attempts', 'Attempts'],
                ['calls', 'Calls'],
                ['callsOfTool', 'Calls of this tool'],
              ] as const
            ).map(([name, label]) => (
              <Field
                key={name}
                label={label}
                value={call[name]}
                inputMode="numeric"
                maxLength={10}
                onValue={change(name)}
                error={wrong(name)}
              />
            ))}
          </fieldset>
        </div>
      </details>
    </>
  );
}

function Json({
  label,
  value,
  rows = 3,
  error,
  onValue,
}: {
  readonly label: string;
  readonly value: string;
  readonly rows?: number;
  readonly error: string | undefined;
  readonly onValue: (value: string) => void;
}): JSX.Element {
  return (
    <Field
      label={label}
      value={value}
      error={error}
      className="mono"
      spellCheck={false}
      onValue={onValue}
      control={<textarea rows={rows} />}
    />
  );
}
