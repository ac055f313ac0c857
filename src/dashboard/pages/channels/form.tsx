// The form of a channel: name, type, the fields of that type, and the filters for approvals.
import { type JSX, useState } from 'react';
import type { Input } from '../../lib/api.ts';
import { usePageMutation } from '../../lib/mutation.ts';
import { refresh, useAction } from '../../lib/query.ts';
import { envs } from '../../lib/search.ts';
import { Check, Field, Form, Select } from '../../ui/form.tsx';
import {
  type Channel,
  type ChannelType,
  type ConfigText,
  configOf,
  type FilterText,
  filtersOf,
  filterTextOf,
  kinds,
} from './kinds.ts';
import { saveChannel, textsOf } from './save.ts';

/** @param of the channel to edit. Undefined: a new one */
export function ChannelForm({
  channel,
  onDone,
}: Readonly<{ channel?: Channel; onDone: (channel: Channel) => void }>): JSX.Element {
  const make = useAction('createChannel', ['listChannels']);
  const update = usePageMutation(saveChannel, () => refresh(['listChannels']));
  const stored = channel && textsOf(channel);
  const [name, setName] = useState(stored?.name ?? '');
  const [type, setType] = useState<ChannelType>(channel?.channel_type ?? 'webhook');
  const [config, setConfig] = useState<ConfigText>(stored?.config ?? {});
  const [filters, setFilters] = useState(stored?.filters ?? filterTextOf(null));
  const by = channel ? update : make;
  // A refusal of the channel's own settings begins with the field's name.
  const refused = /^config\.\w+/.exec(by.error?.message ?? '')?.[0];
  const errors = refused && by.error ? { [refused]: by.error.message } : by.error?.fields;
  const submit = (): void => {
    if (channel) update.mutate({ channel, texts: { name, config, filters } }, onDone);
    else {
      const body = { name, channel_type: type, config: configOf(type, config), filters: filtersOf(filters) };
      make.mutate({ body } as Input<'createChannel'>, onDone);
    }
  };
  return (
    <Form
      onSubmit={submit}
      by={by}
      act={channel ? 'Save channel' : 'Add channel'}
      {...(errors ? { errors } : {})}
    >
      <Field name="name" label="Name" required maxLength={255} value={name} onValue={setName} />
      {!channel && (
        <Select
          label="Type"
          value={type}
          options={Object.entries(kinds).map(([key, { label }]) => [key, label] as const)}
          onValue={(next) => setType(next as ChannelType)}
        />
      )}
      <p className="muted">{kinds[type].help}</p>
      {kinds[type].fields.map((field) => (
        <Field
          key={field.key}
          name={`config.${field.key}`}
          label={field.label}
          value={config[field.key] ?? ''}
          required={!field.optional}
          autoComplete="off"
          spellCheck={false}
          inputMode={field.number ? 'numeric' : undefined}
          onValue={(value) => setConfig({ ...config, [field.key]: value })}
          help={
            channel && field.secret
              ? 'The stored value is hidden. Leave it unchanged to keep it.'
              : field.help
          }
        />
      ))}
      <FilterFields filters={filters} onFilters={setFilters} />
    </Form>
  );
}

function FilterFields({
  filters,
  onFilters,
}: Readonly<{ filters: FilterText; onFilters: (filters: FilterText) => void }>): JSX.Element {
  return (
    <fieldset className="form">
      <legend>Approvals to send</legend>
      <div className="decide-buttons starters">
        {envs.map((env) => (
          <Check
            key={env}
            checked={filters.environments.includes(env)}
            onChange={() =>
              onFilters({
                ...filters,
                environments: filters.environments.includes(env)
                  ? filters.environments.filter((one) => one !== env)
                  : [...filters.environments, env],
              })
            }
          >
            {env}
          </Check>
        ))}
      </div>
      {(
        [
          ['agent_patterns', 'Agents'],
          ['contract_names', 'Contracts'],
          ['ruleset_names', 'Rulesets and rules'],
        ] as const
      ).map(([key, label]) => (
        <Field
          key={key}
          name={`filters.${key}`}
          label={label}
          value={filters[key]}
          placeholder="all"
          onValue={(value) => onFilters({ ...filters, [key]: value })}
        />
      ))}
      <p className="muted">
        Enter patterns, such as shop-*, separated by commas. Leave a field empty to match all.
      </p>
    </fieldset>
  );
}
