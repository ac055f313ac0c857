// The form of a channel: the fields of its kind. Secrets that are left empty in a change stay as they are.
import { type JSX, useState } from 'react';
import type { Input, Reply } from '../../lib/api.ts';
import { useAction } from '../../lib/query.ts';
import { say } from '../../ui/overlay.tsx';
import { Button, Failed, Field, Select } from '../../ui/parts.tsx';
import { kinds } from './kinds.ts';

type Channel = Reply<'listChannels'>[number];
type Kind = Channel['channel_type'];

const shown = (value: unknown): string =>
  Array.isArray(value) ? value.join(', ') : value === null || value === undefined ? '' : String(value);

export function ChannelForm({
  of,
  onDone,
}: {
  readonly of?: Channel;
  readonly onDone: () => void;
}): JSX.Element {
  const create = useAction('createChannel', ['listChannels']);
  const update = useAction('updateChannel', ['listChannels']);
  const [kind, setKind] = useState<Kind>(of?.channel_type ?? 'webhook');
  const [name, setName] = useState(of?.name ?? '');
  const { fields } = kinds[kind];
  const [values, setValues] = useState<{ readonly [name: string]: string }>(
    Object.fromEntries(
      of
        ? fields
            .filter(({ type }) => type !== 'password')
            .map((field) => [field.name, shown(of.config[field.name])])
        : [],
    ),
  );
  const error = create.error ?? update.error;
  const wrong = error?.fields ?? {};
  const config = Object.fromEntries(
    fields
      .map(({ name: key, type, list }) => {
        const text = (values[key] ?? '').trim();
        if (text === '') return [key, undefined];
        if (list) return [key, text.split(',').map((one) => one.trim())];
        return [key, type === 'number' ? Number(text) : text];
      })
      .filter(([, value]) => value !== undefined),
  );
  const submit = (): void => {
    const success = {
      onSuccess: () => {
        say(`${name} is saved. Send a test to see that it arrives.`, 'allow');
        onDone();
      },
    };
    if (of)
      update.mutate(
        { params: { channel_id: of.id }, body: { name, config } } as Input<'updateChannel'>,
        success,
      );
    else create.mutate({ body: { name, channel_type: kind, config } } as Input<'createChannel'>, success);
  };
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {!of && (
        <Select
          label="Kind"
          value={kind}
          options={(Object.keys(kinds) as Kind[]).map((one) => [one, kinds[one].label] as const)}
          onValue={(next) => setKind(next as Kind)}
        />
      )}
      <Field label="Name" required value={name} maxLength={255} onValue={setName} error={wrong.name} />
      {fields.map((field) => {
        const kept = of !== undefined && field.type === 'password';
        const help = kept ? 'Empty: stays as it is.' : field.help;
        return (
          <Field
            key={`${kind} ${field.name}`}
            label={field.label}
            type={field.type ?? 'text'}
            autoComplete="off"
            required={!field.optional && !kept}
            value={values[field.name] ?? ''}
            onValue={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
            help={help}
            error={wrong[`config.${field.name}`]}
          />
        );
      })}
      {error && <Failed error={error} />}
      <div className="decide-buttons">
        <Button kind="primary" submit busy={create.isPending || update.isPending}>
          {of ? 'Save channel' : 'Add channel'}
        </Button>
        <Button onClick={onDone}>Cancel</Button>
      </div>
    </form>
  );
}
