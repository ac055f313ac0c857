// The form of the playground's call: fields of every call, and fields that only some contracts use.
import type { JSX } from 'react';
import { envs } from '../../lib/search.ts';
import { Field, type FieldProps, Select } from '../../ui/form.tsx';
import type { Call, Parsed } from './call.ts';

interface Props {
  readonly call: Call;
  readonly read: Parsed;
  readonly onCall: (call: Call) => void;
}

const further: readonly (keyof Call)[] = [
  'service',
  'org',
  'ticket',
  'claims',
  'metadata',
  'cwd',
  'output',
  'attempts',
  'calls',
  'callsOfTool',
];

export function CallForm({ call, read, onCall }: Props): JSX.Element {
  /** The value of a field, and its mistake. */
  const bind = (name: keyof Call) => ({
    value: call[name],
    onValue: (value: string): void => onCall({ ...call, [name]: value }),
    error: !read.ok && read.field === name ? read.why : undefined,
  });
  const used = further.filter((name) => call[name] !== '').length;
  return (
    <>
      <Field {...bind('tool')} label="Tool" maxLength={255} />
      <Json {...bind('args')} label="Arguments as JSON" rows={5} />
      <div className="call-fields">
        <Select {...bind('environment')} label="Call environment" options={envs} />
        <Field {...bind('role')} label="Role" maxLength={255} />
        <Field {...bind('user')} label="User" maxLength={255} />
      </div>
      <details open={used > 0}>
        <summary>More fields{used > 0 ? ` (${used} filled in)` : ''}</summary>
        <div className="form">
          <div className="call-fields">
            <Field {...bind('service')} label="Service" maxLength={255} />
            <Field {...bind('org')} label="Organization" maxLength={255} />
            <Field {...bind('ticket')} label="Ticket" maxLength={255} />
            <Json {...bind('claims')} label="Claims as JSON" />
            <Json {...bind('metadata')} label="Metadata as JSON" />
            <Field
              {...bind('cwd')}
              label="Folder"
              maxLength={4096}
              spellCheck={false}
              help="Used by sandbox contracts."
            />
            <Field {...bind('output')} label="Tool result" help="Used by post contracts." />
          </div>
          <fieldset className="call-fields">
            <legend>Earlier session counts, for session contracts and limits</legend>
            <Field {...bind('attempts')} label="Attempts" inputMode="numeric" maxLength={10} />
            <Field {...bind('calls')} label="Calls" inputMode="numeric" maxLength={10} />
            <Field {...bind('callsOfTool')} label="Calls of this tool" inputMode="numeric" maxLength={10} />
          </fieldset>
        </div>
      </details>
    </>
  );
}

const Json = ({ rows = 3, ...field }: FieldProps & { readonly rows?: number }): JSX.Element => (
  <Field {...field} className="mono" spellCheck={false} control={<textarea rows={rows} />} />
);
