// Retention of records: days by kind, with a preview of what they would remove.

import { type JSX, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { counted } from '../../lib/text.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Field, Form, useFields } from '../../ui/form.tsx';
import { say } from '../../ui/messages.tsx';
import { Time } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { TitledCard } from '../../ui/titled-card.tsx';

const kinds = [
  ['events', 'Events', 'event', 'events'],
  ['approvals', 'Approvals', 'approval', 'approvals'],
  ['runs', 'Runs', 'run', 'runs'],
  ['deliveries', 'Deliveries', 'delivery', 'deliveries'],
] as const;
type DaysField = `${(typeof kinds)[number][0]}_days`;
type Policy = Reply<'retention'>;
type Preview = Reply<'previewRetention'>;

const fields = kinds.map(([kind]): DaysField => `${kind}_days`);
type Days = { readonly [F in DaysField]: string };

const daysOf = (policy: Policy): Days =>
  Object.fromEntries(fields.map((field) => [field, String(policy[field])])) as Days;

/** The changed fields. The others keep their value on the hub, where another admin may have changed them. */
const changesOf = (days: Days, before: Days): { readonly [F in DaysField]?: number } =>
  Object.fromEntries(
    fields.filter((field) => days[field] !== before[field]).map((field) => [field, Number(days[field])]),
  );

export function Retention(): JSX.Element {
  const policy = useCall('retention', {});
  return (
    <TitledCard title="Retention">
      <p className="muted">
        Older records are removed each hour, by the time when the hub received them. 0 keeps them. Pending
        approvals stay.
      </p>
      <QueryResult query={policy} rows={4}>
        {(current) => <RetentionForm key={current.updated_at} current={current} />}
      </QueryResult>
    </TitledCard>
  );
}

function RetentionForm({ current }: { readonly current: Policy }): JSX.Element {
  const [days, bind] = useFields(() => daysOf(current));
  const [preview, setPreview] = useState<Preview | null>(null);
  const count = useAction('previewRetention');
  const put = useAction('putRetention', ['retention']);
  const body = changesOf(days, daysOf(current));
  const save = (): void =>
    put.mutate({ body }, () => {
      setPreview(null);
      say('Retention saved. Removal begins within a minute.', 'allow');
    });
  return (
    <Form
      onSubmit={() => count.mutate({ body }, setPreview)}
      by={count}
      act="Preview retention"
      isOff={Object.keys(body).length === 0}
    >
      <div className="columns-two">
        {kinds.map(([kind, label]) => (
          <Field
            {...bind(`${kind}_days`)}
            key={kind}
            label={`${label} (days)`}
            type="number"
            required
            min={0}
            max={36_500}
          />
        ))}
      </div>
      <p className="muted">
        {current.updated_at === null ? (
          'Nothing is removed by itself yet.'
        ) : (
          <>
            Changed by {current.updated_by} on <Time at={current.updated_at} />.
          </>
        )}
      </p>
      <Confirm
        title="Save retention"
        open={preview !== null}
        by={put}
        onClose={() => setPreview(null)}
        onAct={save}
      >
        {preview && <Removal preview={preview} />}
      </Confirm>
    </Form>
  );
}

/** Records that the days would remove. */
function Removal({ preview }: { readonly preview: Preview }): JSX.Element {
  const removed = kinds.filter(([kind]) => preview[kind] > 0);
  if (removed.length === 0) return <p>These days remove nothing now.</p>;
  return (
    <>
      <p>These days remove from all environments permanently:</p>
      <ul>
        {removed.map(([kind, , one, many]) => (
          <li key={kind}>{counted(preview[kind], one, many)}</li>
        ))}
      </ul>
    </>
  );
}
