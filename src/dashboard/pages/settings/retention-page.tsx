// Retention of records: days by kind, and the purge of old events.
import { type JSX, useRef, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useAction } from '../../lib/query.ts';
import { counted } from '../../lib/text.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Field, Select } from '../../ui/form.tsx';
import { say } from '../../ui/messages.tsx';
import { Button, Time } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { TitledCard } from '../../ui/titled-card.tsx';
import { adminPage } from './admin-page.tsx';
import { Retention } from './retention.tsx';

export default adminPage('Retention', 'change retention', () => (
  <>
    <Retention />
    <Purge />
  </>
));

function Purge(): JSX.Element {
  const purge = useAction('purgeEvents', ['searchEvents', 'eventHistogram', 'eventFacets', 'statsOverview']);
  const preview = useAction('purgeEvents');
  const [count, setCount] = useState('90');
  const [unit, setUnit] = useState<'days' | 'hours'>('days');
  const field = useRef<HTMLInputElement>(null);
  useCommand('purgeEvents', () => field.current?.focus());
  const [open, setOpen] = useState(false);
  const age = unit === 'hours' ? { older_than_hours: Number(count) } : { older_than_days: Number(count) };
  const ask = (): void => preview.mutate({ query: { ...age, dry_run: 'true' } }, () => setOpen(true));
  const many = preview.data === undefined ? '' : counted(preview.data.deleted_count, 'event');
  const done = ({ deleted_count: deleted, complete }: Reply<'purgeEvents'>): void => {
    setOpen(false);
    say(
      `${counted(deleted, 'event')} removed${complete ? '' : '; removal continues in the background'}.`,
      'allow',
    );
  };
  return (
    <TitledCard title="Old events">
      <Field
        ref={field}
        label={`Older than (${unit})`}
        type="number"
        min={1}
        value={count}
        onValue={setCount}
      />
      <Select
        label="Unit"
        value={unit}
        options={['days', 'hours']}
        onValue={(value) => setUnit(value === 'hours' ? 'hours' : 'days')}
      />
      <div>
        <Button kind="danger" busy={preview.isPending} disabled={!/^[1-9]\d{0,4}$/.test(count)} onClick={ask}>
          Purge events
        </Button>
      </div>
      {preview.error && <Failed error={preview.error} />}
      <Confirm
        title="Purge events"
        word="purge"
        open={open}
        by={purge}
        onClose={() => setOpen(false)}
        onAct={() => purge.mutate({ query: { ...age } }, done)}
      >
        <p>
          The purge removes {many} received before <Time at={preview.data?.cutoff ?? null} /> from all
          environments permanently{preview.data?.complete === false ? ', and possibly more' : ''}.
        </p>
      </Confirm>
    </TitledCard>
  );
}
